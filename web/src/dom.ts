/** Elements made in one expression. Text is always text, never markup. */

type Child = Node | string | undefined;

/** An element with attributes and children; attributes that are undefined are left out. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** A table with a caption, a row of headings, and rows of cells; the first cell of a row heads it. */
export function table(caption: string, headings: string[], rows: Child[][]): HTMLTableElement {
  const head = element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((cells) =>
    element(
      "tr",
      {},
      ...cells.map((cell, index) =>
        index === 0 ? element("th", { scope: "row" }, cell) : element("td", {}, cell),
      ),
    ),
  );
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, ...body),
  );
}

/** Definition list, a row for each pair of texts. */
export function entries(list: { name: string; value: string }[]): HTMLDListElement {
  const pairs = list.map(({ name, value }) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)),
  );
  return element("dl", {}, ...pairs);
}

/** A button that calls `act` when it is pressed. */
export function button(text: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}

/** Lets the reader keep `content` as a file. */
export function save(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}
