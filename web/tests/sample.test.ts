import { expect, it } from "vitest";

import { sample } from "./sample.ts";

// The command's own tests read this file: both sides mean the same fields.
it("the sample is in the file that the command's tests read", async () => {
  await expect(`${JSON.stringify(sample, undefined, 1)}\n`).toMatchFileSnapshot("sample.json");
});
