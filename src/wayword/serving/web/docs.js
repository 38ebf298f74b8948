// The page at /docs: what /openapi.json says, as tables, and a form for everything that can be asked with GET.

const made = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const rules = ({ type, enum: choices, minimum, maximum, maxLength, default: preset }) =>
  [
    choices ? choices.join(" | ") : type,
    minimum !== undefined && `${minimum} to ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    preset !== undefined && `default ${preset}`,
  ].filter(Boolean).join(", ");

const table = (heads, rows) => {
  const found = made("table");
  const head = found.createTHead().insertRow();
  for (const text of heads) head.append(made("th", text, { scope: "col" }));
  const body = found.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  return found;
};

const tried = (path, parameters) => {
  const form = made("form");
  for (const { name, required } of parameters) {
    const label = made("label", name);
    label.append(made("input", "", { name, ...(required && { required: "" }) }));
    form.append(label);
  }
  const answer = made("output");
  form.append(made("button", "Ask"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    try {
      const response = await fetch(`.${path}?${new URLSearchParams(given)}`);
      const text = await response.text();
      const json = response.headers.get("content-type")?.includes("json");
      answer.textContent = `${response.status}\n${json ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
    } catch {
      answer.textContent = "The server does not answer.";
    }
  });
  return [form, answer];
};

const operation = (path, method, described) => {
  const section = made("section");
  section.append(made("h2", `${method.toUpperCase()} ${path}`), made("p", described.summary));
  const parameters = described.parameters ?? [];
  if (parameters.length) {
    section.append(table(
      ["parameter", "meaning", "values"],
      parameters.map((one) => [one.required ? `${one.name} (needed)` : one.name, one.description, rules(one.schema)]),
    ));
  }
  section.append(table(
    ["status", "meaning"],
    Object.entries(described.responses).map(([status, one]) => [status, one.description]),
  ));
  if (described.security) section.append(made("p", "Needs the header Authorization: Bearer TOKEN."));
  if (method === "get" && !described.security) section.append(...tried(path, parameters));
  return section;
};

const place = document.getElementById("operations");
try {
  const { paths } = await (await fetch("openapi.json")).json();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, described] of Object.entries(methods)) place.append(operation(path, method, described));
  }
} catch {
  place.textContent = "The description could not be loaded. Is the server still there?";
}
