"""Debian's chromium by selenium, without a window. Exit code 77 where there is none: ctest says
"Skipped"."""

import os
import shutil
import sys

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}: apt-get install chromium chromium-driver python3-selenium")
    sys.exit(SKIPPED)


def selenium():
    """Debian's python3 has Debian's selenium; another python3 may stand before it in PATH."""
    try:
        import selenium.webdriver as webdriver

        return webdriver
    except ImportError:
        debian = "/usr/bin/python3"
        if (
            os.path.exists(debian)
            and os.path.realpath(sys.executable) != os.path.realpath(debian)
            and "FABRICAST_SECOND_PYTHON" not in os.environ
        ):
            os.environ["FABRICAST_SECOND_PYTHON"] = "1"
            os.execv(debian, [debian, *sys.argv])
        skip("python3-selenium is not installed")


def open_browser(width=1300, height=1000, dark=False, requests=False):
    webdriver = selenium()
    from selenium.webdriver.chrome.service import Service

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    if not chromium or not driver:
        skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--force-color-profile=srgb",
        "--disable-dev-shm-usage",
        f"--window-size={width},{height}",
    ):
        options.add_argument(word)
    if dark:
        options.add_argument("--blink-settings=preferredColorScheme=0")
    logs = {"browser": "ALL"}
    if requests:  # what pages ask for; to log it slows every page
        logs["performance"] = "ALL"
    options.set_capability("goog:loggingPrefs", logs)
    return webdriver.Chrome(options=options, service=Service(driver))
