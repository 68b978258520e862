"""Headless Chromium without a network, for tests and screenshots of pages."""
import base64
import contextlib

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


@contextlib.contextmanager
def chromium():
    """A browser that reaches only this machine and ends with the `with` block."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update",
                 "--disable-extensions", "--disable-sync", "--hide-scrollbars", "--disable-gpu",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_page_load_timeout(30)
    driver.set_script_timeout(30)
    try:
        yield driver
    finally:
        driver.quit()


def set_screen(driver, width, height=900, dark=False, scale=1):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


def box_of(driver, selector, margin=0):
    """The position of an element in the page, or None if it is not shown."""
    return driver.execute_script("""
        const element = document.querySelector(arguments[0]);
        if (!element || !element.getClientRects().length) return null;
        const box = element.getBoundingClientRect();
        const margin = arguments[1];
        return {x: box.x + scrollX - margin, y: box.y + scrollY - margin,
                width: box.width + 2 * margin, height: box.height + 2 * margin};
        """, selector, margin)


def picture(driver, box):
    """PNG of a part of the page. It must be on screen: canvases elsewhere may be blank."""
    shot = driver.execute_cdp_cmd("Page.captureScreenshot",
                                  {"format": "png", "clip": {**box, "scale": 1}})
    return base64.b64decode(shot["data"])
