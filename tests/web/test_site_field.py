"""The script on a page of another site: the field it is put on, the form it is in, and the site's own styles."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from browsing import accessible, active, box, opened, options, records_of, served, shown, site
from runs import Made
from servers import Server

pytestmark = pytest.mark.browser

LOUD = """* { color: crimson; letter-spacing: 3px; text-transform: uppercase }
body > * { border: 4px dotted lime; margin: 40px; float: left } .shop * { background: gold !important }
b, li, div { font-size: 40px } input { width: 300px; font: 18px serif; text-transform: none }"""
SITE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>{head}</head>
<body class="site"><main><h1>Shop</h1><ul><li id="mine">ours</li></ul>
<form action="results.html"><input id="search" name="q" type="search" aria-label="Search" autocomplete="on">
<button>Go</button></form></main>
<script src="{address}/wayword.js" {attributes}></script></body></html>"""
DOCUMENTATION = Path(__file__).parent.parent.parent / "docs/web.md"
RESULTS = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Results</title></head></html>'


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(undisturbed.copy(tmp_path_factory.mktemp("field") / "workspace"), "--origin", "*") as found:
        yield found


class Shop:
    """A site at another origin, whose page can be written anew."""

    def __init__(self, folder: Path, address: str, browser: Browser, server: Server) -> None:
        self.folder, self.address, self.browser, self.server = folder, address, browser, server
        (folder / "results.html").write_text(RESULTS)

    def write(self, attributes: str = 'data-for="#search"', head: str = "") -> str:
        page = SITE.format(address=self.server.address, attributes=attributes, head=head)
        (self.folder / "index.html").write_text(page)
        return self.address


@pytest.fixture
def shop(tmp_path: Path, browser: Browser, server: Server) -> Iterator[Shop]:
    with site(tmp_path) as address:
        yield Shop(tmp_path, address, browser, server)


def ready(page: Page) -> Page:
    expect(page.get_by_role("combobox", name="Search")).to_have_attribute("aria-expanded", "false")
    page.locator("#search").focus()
    return page


def test_a_pick_fills_the_field_sends_the_form_and_is_on_disk(shop: Shop) -> None:
    with opened(shop.browser, shop.write()) as page:
        ready(page).locator("#search").fill("vi")
        shown(page, expected := shop.server.queries("vi", k=8))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert active(page) == expected[1]
        assert accessible(page) == []
        page.keyboard.press("Enter")
        page.wait_for_url(f"{shop.address}/results.html?q={expected[1].replace(' ', '+')}")
        told = records_of(shop.server, page, 2)
    # A request that the browser gave up when it left the page is sent again; the log keeps one of equal records.
    seen, picked = (record for n, record in enumerate(told) if record not in told[:n])
    assert seen["action_name"] == "completions_shown"
    assert seen["event_attributes"]["completion"]["shown"] == expected
    assert picked["action_name"] == "completion_picked"
    assert picked["event_attributes"]["object"]["object_id"] == expected[1]
    assert picked["event_attributes"]["position"] == {"ordinal": 2}
    assert seen["query_id"] == picked["query_id"]
    one, other = (record["event_attributes"]["completion"]["typing_session"] for record in (seen, picked))
    assert one == other


def test_the_lines_of_the_documentation_do_it(shop: Shop) -> None:
    with opened(shop.browser, _documented(shop, 0)) as page:
        ready(page).keyboard.type("vi")
        shown(page, expected := shop.server.queries("vi", k=8))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{shop.address}/search?q={expected[0].replace(' ', '+')}")


def _documented(shop: Shop, *blocks: int) -> str:
    """A page with these examples."""
    found = re.findall(r"```html\n(.*?)```", DOCUMENTATION.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "".join(found[block] for block in blocks).replace(
        "https://completions.example", shop.server.address
    )
    (shop.folder / "index.html").write_text(f"<!doctype html><title>Shop</title>{lines}")
    return shop.address


@pytest.mark.parametrize("picks", [True, False])
def test_hidden_fields_take_the_ids_of_the_search_to_the_results(shop: Shop, picks: bool) -> None:
    _documented(shop, 1)
    page_text = (
        (shop.folder / "index.html").read_text().replace('type="search"', 'type="search" aria-label="Search"')
    )
    script = f'<script src="{shop.server.address}/wayword.js" data-for="#search" defer></script>'
    (shop.folder / "index.html").write_text(page_text + script)
    with opened(shop.browser, shop.address) as page:
        ready(page).locator("#search").fill("vi")
        shown(page, shop.server.queries("vi", k=8))
        if picks:
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{shop.address}/search?*")
        last = records_of(shop.server, page, 1 + picks)[-1]
        sent = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    assert last["action_name"] == ("completion_picked" if picks else "completions_shown")
    assert sent["query_id"] == last["query_id"]
    assert sent["typing_session"] == last["event_attributes"]["completion"]["typing_session"]


def test_a_site_without_a_form_asks_for_the_ids(shop: Shop) -> None:
    with opened(shop.browser, shop.write("")) as page:
        page.evaluate(
            """async () => {
                const input = document.querySelector("#search");
                const field = await Wayword.attach(input);
                window.searches = [];
                input.addEventListener("keydown", (event) => {
                    if (event.key !== "Enter" || event.defaultPrevented) return;
                    event.preventDefault();
                    window.searches.push(field.search());
                });
            }"""
        )
        ready(page).locator("#search").fill("vi")
        shown(page, shop.server.queries("vi", k=8))
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        seen = records_of(shop.server, page, 1)
        first, again = page.evaluate("window.searches")
    session = seen[0]["event_attributes"]["completion"]["typing_session"]
    assert first == {"query_id": seen[0]["query_id"], "typing_session": session}
    assert list(again) == ["query_id"]
    assert again["query_id"] != first["query_id"]


def test_a_click_picks_too(shop: Shop) -> None:
    with opened(shop.browser, shop.write()) as page:
        ready(page).keyboard.type("vi")
        shown(page, expected := shop.server.queries("vi", k=8))
        page.get_by_role("option").nth(2).click()
        page.wait_for_url(f"{shop.address}/results.html?q={expected[2].replace(' ', '+')}")


def test_enter_sends_what_was_typed_and_leaving_the_field_closes_the_list(shop: Shop) -> None:
    with opened(shop.browser, shop.write()) as page:
        ready(page).keyboard.type("vi")
        shown(page, shop.server.queries("vi", k=8))
        page.get_by_role("heading").click()
        expect(page.get_by_role("listbox")).to_be_hidden()
        page.locator("#search").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/results.html?q=vi")


def test_the_site_may_cancel_a_pick(shop: Shop) -> None:
    with opened(shop.browser, shop.write()) as page:
        page.evaluate(
            """document.addEventListener("wayword:pick", (event) => {
                event.preventDefault();
                window.detail = event.detail;
            });
            document.addEventListener("input", (event) => { window.last = event.target.value; });"""
        )
        ready(page).locator("#search").fill("vi")
        shown(page, expected := shop.server.queries("vi", k=8))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("#search")).to_have_value(expected[0])
        detail = page.evaluate("window.detail")
        assert (detail["query"], detail["prefix"], detail["position"]) == (expected[0], "vi", 1)
        assert page.evaluate("window.last") == expected[0]
        assert page.url == f"{shop.address}/"
        _, picked = records_of(shop.server, page, 2)
        assert picked["query_id"] == detail["query_id"]
        assert picked["event_attributes"]["completion"]["typing_session"] == detail["typing_session"]


def test_styles_of_the_site_and_of_the_list_leave_each_other_alone(shop: Shop) -> None:
    look = "(e) => { const s = getComputedStyle(e); return [s.color, s.letterSpacing, s.fontSize, s.borderTopWidth]; }"
    with opened(shop.browser, shop.write("", f"<style>{LOUD}</style>")) as page:
        before = page.locator("#mine").evaluate(look)
        page.evaluate("Wayword.attach(document.querySelector('#search'))")
        ready(page).keyboard.type("vi")
        shown(page, shop.server.queries("vi", k=8))
        assert page.locator("#mine").evaluate(look) == before
        text = page.locator("wayword-rest").first
        assert text.evaluate(look) == ["rgb(28, 27, 25)", "normal", "18px", "0px"]
        expect(text).to_have_css("text-transform", "none")
        expect(page.get_by_role("listbox")).to_have_css("float", "none")
        field, found = (box(page.locator(one)) for one in ("#search", "wayword-list"))
        assert found["x"] == field["x"]
        assert field["y"] + field["height"] <= found["y"] < field["y"] + field["height"] + 10


def test_a_strict_policy_for_content_needs_to_allow_the_service_only(shop: Shop) -> None:
    policy = f"default-src 'none'; script-src {shop.server.address}; connect-src {shop.server.address}"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    with opened(shop.browser, shop.write(head=head)) as page:
        ready(page).keyboard.type("vi")
        shown(page, shop.server.queries("vi", k=8))
        expect(page.get_by_role("listbox")).to_have_css("position", "fixed")


def test_options_are_given_as_attributes(shop: Shop) -> None:
    attributes = 'data-for="#search" data-k="3" data-mode="prefix" data-events="off"'
    posted: list[str] = []
    with opened(shop.browser, shop.write(attributes)) as page:
        page.on("request", lambda request: posted.append(request.method))
        ready(page).keyboard.type("vi")
        shown(page, expected := shop.server.queries("vi", k=3, mode="prefix"))
        assert len(expected) == 3
        assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/results.html?q=*")
    assert "POST" not in posted


def test_the_context_goes_with_every_question(shop: Shop) -> None:
    attributes = 'data-for="#search" data-context-country="de" data-context-log_in="yes"'
    with opened(shop.browser, shop.write(attributes)) as page:
        ready(page)
        with page.expect_request("**/complete?*") as asked:
            page.keyboard.type("v")
        assert "context.country=de&context.log_in=yes" in asked.value.url


def test_without_the_service_it_is_the_field_it_was(
    shop: Shop, undisturbed: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = undisturbed.copy(tmp_path_factory.mktemp("gone") / "workspace")
    with served(workspace, "--origin", "*") as leaving:
        shop.server = leaving
        with opened(shop.browser, shop.write()) as page:
            ready(page)
            leaving.stop(signal.SIGKILL)
            with page.expect_event("requestfailed"):
                page.keyboard.type("v")
            page.keyboard.type("ideo")
            page.keyboard.press("Enter")
            page.wait_for_url("**/results.html?q=video")


def test_a_field_that_is_detached_is_as_it_was(shop: Shop) -> None:
    attributes = "(e) => Object.fromEntries(Array.from(e.attributes, (a) => [a.name, a.value]))"
    with opened(shop.browser, shop.write("")) as page:
        field = page.locator("#search")
        before = field.evaluate(attributes)
        page.evaluate(
            "Wayword.attach(document.querySelector('#search'), {k: 4}).then((f) => window.field = f)"
        )
        ready(page).keyboard.type("vi")
        shown(page, shop.server.queries("vi", k=4))
        page.evaluate("window.field.detach()")
        assert field.evaluate(attributes) == before
        assert page.locator("wayword-list, wayword-status").count() == 0
        assert options(page) == []
