"""The report in a real browser: drawn, quiet, offline, and usable by keyboard, on a phone and in the dark."""

import shutil

import pytest

from odvff.report import write_report
from tests.report.models import classifier, regressor, surface

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
pytest.importorskip("plotly", reason="reports are drawn by plotly")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install it with your package manager"),
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
]
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
KINDS = {"numbers": regressor, "surface": surface, "classes": classifier}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LINE = "document.querySelector('.plot .scatterlayer .js-line[style*=\"stroke-width: 2\"]').style.stroke"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for kind, make in KINDS.items():
        write_report(folder / f"{kind}.html", *make(), name=kind)
    return folder


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, pages):
    """Opens a report; at the end there must have been no complaint, and no request but for the file."""
    contexts, complaints, requests = [], [], []

    def open_page(kind, width=1280, scheme="light", scroll=True, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((pages / f"{kind}.html").as_uri())
        first = page.locator(".plot").first
        if scroll:
            first.scroll_into_view_if_needed()
            first.locator(".main-svg").first.wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert requests
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)


def until(page, expression):
    """Wait for it to be true; Playwright's own waiting evaluates strings in the page, which its policy forbids."""
    for _ in range(150):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"it never became true: {expression}")


def draw_all(page):
    """Unfold all, and bring every plot that is not hidden into view."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    places = [place for place in page.query_selector_all(".plot") if place.is_visible()]
    for place in places:
        place.scroll_into_view_if_needed()
        place.wait_for_selector(".main-svg", state="attached")
    return places


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_is_drawn(visit, kind):
    page = visit(kind)
    places = draw_all(page)
    assert len(places) >= 4
    for place in places:
        marks = place.query_selector_all(
            "path.js-line, path.point, .bars path, .contourlayer path, .heatmaplayer image"
        )
        assert marks, place.get_attribute("aria-label")
        box = place.query_selector(".main-svg").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_needs_no_sideways_scrolling(visit, kind):
    page = visit(kind, width=360, device_scale_factor=2, has_touch=True)
    for place in draw_all(page):
        box = place.query_selector(".main-svg").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_dark_is_dark_and_the_button_changes_it(visit):
    light, dark = visit("numbers"), visit("numbers", scheme="dark")
    colours = [(p.evaluate(BACKGROUND), p.evaluate(LINE)) for p in (light, dark)]
    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1]
    button = dark.locator("#theme")
    assert button.get_attribute("aria-pressed") == "true"
    button.focus()
    dark.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    until(dark, f"{LINE} === '{colours[0][1]}'")
    assert dark.evaluate(BACKGROUND) == colours[0][0]
    dark.keyboard.press("Space")
    until(dark, f"{LINE} === '{colours[1][1]}'")


def test_the_system_changes_its_mind(visit):
    page = visit("numbers")
    before = page.evaluate(LINE)
    page.emulate_media(color_scheme="dark")
    until(page, f"{LINE} !== '{before}'")


def test_classes_are_chosen_by_keyboard(visit):
    page = visit("classes")
    shown = "[...document.querySelectorAll('[data-class]')].filter((e) => !e.hidden).map((e) => e.dataset.class).join()"
    assert page.evaluate(shown) == "0"
    page.locator("#class").focus()
    page.keyboard.press("ArrowDown")
    until(page, f"{shown} === '1'")
    first = page.locator("[data-class='1'] .plot").first
    first.scroll_into_view_if_needed()
    first.locator(".main-svg").first.wait_for(state="attached")


def test_surfaces_switch_by_keyboard(visit):
    page = visit("surface")
    option = page.locator("[data-view='0']")
    place = page.locator(f"#{option.get_attribute('data-figure')}")
    place.scroll_into_view_if_needed()
    place.locator(".contourlayer path").first.wait_for(state="attached")
    visible = f"document.getElementById('{place.get_attribute('id')}').data.map((t) => t.visible).join()"
    assert page.evaluate(visible) == "true,false"
    option.focus()
    page.keyboard.press("ArrowRight")
    until(page, f"{visible} === 'false,true'")


def test_effects_can_have_scales_of_their_own(visit):
    page = visit("numbers")
    place = page.locator(".plot").nth(1)  # the first is the strongest, whose scale is that of all
    place.scroll_into_view_if_needed()
    place.locator(".main-svg").first.wait_for(state="attached")
    layout = f"document.getElementById('{place.get_attribute('id')}').layout"
    scale = f"{layout}[{layout}.meta.axis].range.join()"
    before = page.evaluate(scale)
    page.locator("#own-scale").focus()
    page.keyboard.press("Space")
    until(page, f"{scale} !== '{before}'")


def test_the_keyboard_reaches_the_report_first(visit):
    page = visit("numbers", scroll=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_folded_pictures_unfold_when_a_link_leads_there(visit):
    page = visit("numbers")
    folded = page.query_selector("details.weak .plot")
    assert folded is not None  # the fixture has an effect that adds nothing
    page.locator(f".ranking a[href='#{folded.get_attribute('id')}-title']").first.click()
    folded.wait_for_selector(".main-svg", state="attached")
    assert folded.is_visible()


def test_paper_is_light(visit):
    page = visit("numbers", scheme="dark")
    before = page.evaluate(LINE)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(LINE) != before
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(LINE) == before
