import { element } from "./dom.ts";
import type { Report } from "./model.ts";
import { showReport } from "./page.ts";
import "./style.css";
import { paint } from "./theme.ts";

const data = document.getElementById("report");
paint();
try {
  const report = JSON.parse(data?.textContent ?? "") as Report;
  document.title = report.title;
  document.body.append(...showReport(report));
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  document.body.append(element("p", { role: "alert" }, `This page holds no report that can be shown: ${reason}`));
}
