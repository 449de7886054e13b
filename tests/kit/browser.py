# SPDX-License-Identifier: BSD-2-Clause
"""Opens pages in headless Chromium."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

NEEDS_CHROMIUM: Final = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="no chromium"
)
PATIENCE: Final = 60
"""Seconds after which a page that is not ready never will be."""


class Page:
    """A page that is open and ready."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        for key in keys:
            self.driver.find_element(By.TAG_NAME, "body").send_keys(key)

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {script}")

    def text(self, selector: str) -> str:
        """All text in the element, seen or not, with single spaces."""
        words = self.ask(f"document.querySelector({selector!r}).textContent").split()
        return " ".join(words)

    def event(self) -> str:
        """The chosen event, as the page tells it."""
        return self.text("#event")

    def ready(self) -> None:
        """Waits until the page can be used."""
        ready = "return document.documentElement.dataset.ready !== undefined"
        WebDriverWait(self.driver, PATIENCE).until(lambda found: found.execute_script(ready))

    def said(self) -> list[str]:
        """What the browser complained about: script errors and refused requests."""
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [str(entry["message"]) for entry in log]


@contextlib.contextmanager
def opened(path: Path, where: str = "") -> Iterator[Page]:
    """Opens a page from disk. where: what stands behind # in its address."""
    options = webdriver.ChromeOptions()
    # Without the sandbox, because tests may run as root.
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1400,1000"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(shutil.which("chromedriver") or "")
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.get(f"{path.resolve().as_uri()}{where}")
        page = Page(driver)
        page.ready()
        yield page
    finally:
        driver.quit()
