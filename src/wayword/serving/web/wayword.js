/*
 * Completions of this service for a search field of any site:
 *
 *   <script src="https://completions.example/wayword.js" data-for="#search" defer></script>
 *
 * or `Wayword.attach(input, {k, mode, context, events})`, which gives a promise of what `detach()` undoes. The service is where
 * the script came from.
 */
(() => {
  const script = document.currentScript;
  const base = new URL(".", script.src);

  async function attach(input, options = {}) {
    if (!(input instanceof HTMLInputElement)) throw new TypeError(`Wayword.attach: found ${input}; expected an input.`);
    const { Field } = await import(new URL("assets/field.js", base));
    return Field.attach(input, base, options);
  }

  window.Wayword = { attach };
  const selector = script.dataset.for;
  if (!selector) return;

  const { k, mode, events, application } = script.dataset;
  const columns = Array.from(script.attributes).filter(({ name }) => name.startsWith("data-context-"));
  const context = Object.fromEntries(columns.map(({ name, value }) => [name.slice("data-context-".length), value]));

  function attachAll() {
    const found = document.querySelectorAll(selector);
    if (!found.length) console.warn(`Wayword: no element is ${selector}; data-for expects the selector of a search field.`);
    for (const input of found) {
      attach(input, { k, mode, context, application, events: events !== "off" }).catch((error) => {
        console.warn(`Wayword: the field works without completions. ${error}`);
      });
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", attachAll);
  else attachAll();
})();
