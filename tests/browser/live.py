#!/usr/bin/env python3
"""live.py FABRICAST [--shots FOLDER] [--only NAME,...]: starts `fabricast ui` and does in a browser
what a person does: choose, drag, type what is wrong, drop files, pin, cancel, bookmark, reload. How
long a curve takes to follow is printed, not asserted."""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import traceback
import urllib.parse
from pathlib import Path

from browser import open_browser, selenium

selenium()  # another python3 may go on from here
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

ROOT = Path(__file__).resolve().parents[2]
SOURCE = str(ROOT)
AXE = Path(__file__).resolve().parent / "axe-core" / "axe.min.js"


class Page:
    def __init__(self, browser, url, shots):
        self.browser, self.url, self.shots = browser, url, shots
        self.base = url.split("?")[0].split("#")[0]

    # What a person sees.
    def js(self, text, *a):
        return self.browser.execute_script(text, *a)

    def one(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def wait(self, what, why, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            try:
                found = what()
                if found:
                    return found
            except Exception as error:
                if type(error).__name__ not in (
                    "StaleElementReferenceException",
                    "NoSuchElementException",
                ):
                    raise
            time.sleep(0.03)
        raise AssertionError(f"in vain: {why}")

    def shot(self, name):
        if self.shots:
            height = self.js("return Math.min(document.documentElement.scrollHeight, 3200)")
            width = self.js("return innerWidth")
            self.browser.set_window_size(width, max(900, height + 140))
            time.sleep(0.6)
            self.browser.save_screenshot(os.path.join(self.shots, name + ".png"))
            self.browser.set_window_size(1400, 1000)

    def open(self, question=None, wait=True):
        self.browser.get("about:blank")
        hash_ = "" if question is None else "#" + urllib.parse.quote(json.dumps(question))
        self.browser.get(self.url + hash_)
        self.wait(lambda: self.all('[role="tab"]'), "tabs")
        if wait and (question is None or question["v"] == "explore"):
            self.answers(0)

    def answers(self, more_than):
        self.wait(lambda: self.js("return fabricast.answer_ms.length") > more_than, "an answer", 60)

    def count(self):
        return self.js("return fabricast.answer_ms.length")

    def field(self, option, view=None):
        view = view or self.view()
        return self.one(f'#view-{view} [data-option="{option}"]')

    def control(self, option, view=None):
        return self.field(option, view).find_element(
            By.CSS_SELECTOR, 'input[type="text"],select,textarea,input[type="checkbox"]'
        )

    def view(self):
        return self.one('[role="tab"][aria-selected="true"]').get_attribute("id")[4:]

    def type(self, option, text, end=""):
        box = self.control(option)
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text + end)

    def question(self):
        found = json.loads(urllib.parse.unquote(self.browser.current_url.split("#", 1)[1]))
        # The release is always in the address.
        for fields in (found["q"], found.get("a")):
            if fields and fields.get("nccl") == self.release:
                del fields["nccl"]
        return found

    def drop(self, name, text):
        self.js(
            """
            const data = new DataTransfer();
            data.items.add(new File([arguments[1]], arguments[0]));
            for (const kind of ['dragenter', 'dragover', 'drop'])
              document.body.dispatchEvent(
                new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
            """,
            name,
            text,
        )

    # Series of the first chart by id.
    def series(self, place=0):
        return self.js(
            """
            const stage = document.querySelectorAll(
              '#view-explore figure [_echarts_instance_]')[arguments[0]];
            const found = {};
            for (const one of echarts.getInstanceByDom(stage).getOption().series)
              found[one.id] = one;
            return Object.fromEntries(Object.entries(found).map(([id, one]) =>
              [id, {data: one.data, dash: one.lineStyle?.type, name: one.name,
                    stretches: (one.markArea?.data ?? []).length}]));
            """,
            place,
        )

    def curve(self):
        return self.series()["B 0"]["data"]


tests = []


def test(function):
    tests.append(function)
    return function


@test
def opens_with_curves(p):
    p.open()
    assert "token" not in p.browser.current_url, p.browser.current_url
    assert len(p.curve()) == 31, len(p.curve())
    assert p.series()["B 0"]["stretches"] >= 2
    assert "NCCL takes" in p.one("#view-explore .choices").text
    assert p.one("#versions").text.startswith("Fabricast ")
    assert re.search(r"last answer [\d.]+ ms", p.one("#speed").text)
    labels = [e.get_attribute("aria-label") for e in p.all('#view-explore [role="img"]')]
    assert len(labels) == 2 and all("all_reduce" in label for label in labels), labels
    p.shot("explore")


@test
def choose_a_preset(p):
    p.open()
    before, n = p.curve(), p.count()
    Select(p.control("topology")).select_by_value("hgx-b200")
    p.answers(n)
    assert p.curve() != before
    assert p.question() == {"v": "explore", "q": {"topology": "hgx-b200"}}, p.question()


@test
def drag_the_slider(p):
    p.open()
    length = p.js("return history.length")
    blanks = p.js(
        """
        window.blanks = 0; window.seen = 0;
        const look = () => {
          const stage = document.querySelector('#view-explore figure [_echarts_instance_]');
          const shown = echarts.getInstanceByDom(stage).getOption().series;
          if (!shown.some((one) => one.data.length > 0)) window.blanks += 1;
          window.seen += 1;
          requestAnimationFrame(look);
        };
        look();
        return 0;"""
    )
    n = p.count()
    # As a drag does: input at each step, change at the end.
    p.js(
        """
        const slider = document.querySelector('#view-explore input[type=range]');
        let at = 0;
        const step = () => {
          slider.value = String(at);
          slider.dispatchEvent(new Event('input', {bubbles: true}));
          if (++at <= 5) setTimeout(step, 60);
          else slider.dispatchEvent(new Event('change', {bubbles: true}));
        };
        step();"""
    )
    p.wait(lambda: p.question()["q"].get("nodes") == "32", "the last step in the address")
    p.wait(
        lambda: p.js("return fabricast.answer_ms.length") > n
        and "32 nodes" in p.one('#view-explore [role="img"]').get_attribute("aria-label"),
        "curves of 32 nodes",
        60,
    )
    assert p.control("nodes").get_attribute("value") == "32"
    assert p.js("return history.length") == length + 1, "a drag is one entry of the history"
    assert p.js("return window.blanks") == 0 and p.js("return window.seen") > 5


@test
def wrong_value_beside_its_field(p):
    p.open()
    curve = p.curve()
    p.type("nodes", "abc")
    error = p.wait(
        lambda: [
            e for e in p.field("nodes").find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()
        ],
        "an error beside nodes",
    )[0]
    assert '"abc"' in error.text, error.text
    box = p.control("nodes")
    assert box.get_attribute("aria-invalid") == "true"
    assert error.get_attribute("id") in box.get_attribute("aria-describedby")
    assert not p.one("#banner").is_displayed()
    assert p.curve() == curve, "the curves stay"
    p.shot("wrong-value")
    n = p.count()
    p.type("nodes", "4")
    p.answers(n)
    assert p.control("nodes").get_attribute("aria-invalid") is None
    assert not any(
        e.is_displayed() for e in p.field("nodes").find_elements(By.CSS_SELECTOR, ".error")
    )
    p.type("sizes", "8X")
    error = p.wait(
        lambda: [
            e for e in p.field("sizes").find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()
        ],
        "an error beside sizes",
    )[0]
    assert "known: B" in error.text, error.text


@test
def lint_beside_variables(p):
    p.open()
    p.field("env").find_element(By.XPATH, ".//button[.='Add a variable']").click()
    name, value = p.field("env").find_elements(By.CSS_SELECTOR, "input")
    name.send_keys("NCCL_ALGO")
    value.send_keys("Rong")
    remark = p.wait(
        lambda: p.field("env").find_elements(By.CSS_SELECTOR, ".remarks li"), "a remark"
    )[0]
    assert "Rong" in remark.text
    p.shot("lint")
    n = p.count()
    value.send_keys(Keys.CONTROL, "a")
    value.send_keys("Ring")
    p.answers(n)
    p.wait(
        lambda: p.question()["q"].get("env") == ["NCCL_ALGO=Ring"], "the variable in the address"
    )
    p.wait(lambda: "Tree" not in p.one("#view-explore .choices").text, "only rings")


@test
def drop_a_topology(p):
    p.open()
    n = p.count()
    text = p.node_yaml
    p.drop("my-node.yaml", text)
    p.answers(n)
    assert p.question()["q"]["topology"] == "my-node.yaml"
    assert p.control("topology").get_attribute("value") == "my-node.yaml"
    # A reload of the tab keeps the file; another tab has only its name.
    p.browser.refresh()
    p.answers(0)
    assert not p.all('#view-explore [aria-invalid="true"]')
    link = p.browser.current_url
    p.js("sessionStorage.removeItem('fabricast-files')")
    p.browser.get("about:blank")
    p.browser.get(link)
    error = p.wait(
        lambda: [
            e
            for e in p.field("topology").find_elements(By.CSS_SELECTOR, ".error")
            if e.is_displayed()
        ],
        "that the file is missing",
    )[0]
    assert "my-node.yaml" in error.text and "drop it again" in error.text, error.text


@test
def drop_a_fabric_and_a_matrix(p):
    p.open()
    p.drop("fabric.txt", open(SOURCE + "/tests/data/logs/hdr-fat-tree-faked.txt").read())
    p.wait(lambda: p.question()["q"].get("fabric") == "fabric.txt", "the fabric")
    p.wait(lambda: "fabric.txt" in (p.one("#file-facts").text), "what the file is")
    # Leaves of two ports do not fit nodes of eight NICs, which is said beside the file.
    error = p.wait(
        lambda: [
            e
            for e in p.field("fabric").find_elements(By.CSS_SELECTOR, ".error")
            if e.is_displayed()
        ],
        "an error beside the fabric",
    )[0]
    assert error.text.startswith("fabric.txt:"), error.text
    p.open()
    p.drop("topo.txt", open(SOURCE + "/tests/data/logs/" + p.matrix).read())
    p.wait(lambda: p.question()["q"].get("topology") == "topo.txt", "the topology")
    p.shot("matrix")
    time.sleep(1)
    print(
        "     said:",
        [e.text for e in p.all("#view-explore .error") if e.is_displayed()],
        p.one("#banner").text,
    )


@test
def look_at_a_point(p):
    p.open()
    Select(p.one("#explore-at")).select_by_visible_text("1 GiB")
    p.wait(lambda: "critical path" in p.one("#view-explore .point").text, "where the time goes")
    assert "Busiest links" in p.one("#view-explore .point").text
    shares = p.one("#view-explore .point dl.shares").text
    assert "launch" in shares, shares
    assert abs(sum(map(float, re.findall(r"([\d.]+) %", shares))) - 100) < 0.5, shares
    assert p.question()["at"] == 1 << 30
    # The same by a click in the chart.
    p.js(
        """
        const stage = document.querySelector('#view-explore figure [_echarts_instance_]');
        const chart = echarts.getInstanceByDom(stage);
        stage.scrollIntoView({block: 'center'});
        const [x, y] = chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [1048576, 100]);
        const box = stage.getBoundingClientRect();
        stage.firstElementChild.dispatchEvent(new MouseEvent('click',
          {bubbles: true, clientX: box.left + x, clientY: box.top + y}));"""
    )
    p.wait(
        lambda: "1 MiB on 2 nodes" in p.one("#view-explore .point").text,
        "the point that was clicked",
    )
    assert p.question()["at"] == 1 << 20
    p.wait(lambda: p.all("#view-explore .point figure"), "a drawing of the machine", 5)
    p.shot("point")


@test
def pin(p):
    p.open()
    p.one("#view-explore .bar button").click()
    p.wait(lambda: p.series()["A 0"]["data"], "A")
    n = p.count()
    p.field("nodes").find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.ARROW_RIGHT)
    p.answers(n)
    series = p.series()
    assert series["A 0"]["dash"] == "dashed" and len(series["A 0"]["data"]) == 31
    assert series["A 0"]["data"] != series["B 0"]["data"]
    text = p.wait(
        lambda: "Nodes: 2 → 4" in p.one("#view-explore .compare").text
        and p.one("#view-explore .compare").text,
        "what changed",
    )
    assert "times as long as A" in text
    assert p.question()["a"] == {} and p.question()["q"] == {"nodes": "4"}
    p.shot("pinned")
    p.browser.refresh()
    p.answers(0)
    p.wait(lambda: len(p.series()["A 0"]["data"]) == 31, "A after a reload")
    p.all("#view-explore .bar button")[1].click()
    p.wait(lambda: not p.series()["A 0"]["data"], "A is gone")
    assert "a" not in p.question()


@test
def unpin_before_a_is_there(p):
    """What was asked for A and comes after it is gone is not drawn."""
    p.open()
    p.js(
        """const ask = fabricast.api.ask;
        window.late = 0;
        fabricast.api.ask = async (...asked) => {
          const part = await ask(...asked);
          await new Promise((go) => setTimeout(go, 1000));
          window.late += 1;
          return part;
        };"""
    )
    pin_button, unpin = p.all("#view-explore .bar button")[:2]
    pin_button.click()
    unpin.click()
    p.wait(lambda: p.js("return window.late > 0"), "A, late")
    time.sleep(0.2)
    assert not p.series()["A 0"]["data"] and "a" not in p.question()


@test
def bookmark_reload_back(p):
    p.open()
    n = p.count()
    Select(p.control("collective")).select_by_value("all_gather")
    p.answers(n)
    n = p.count()
    Select(p.control("nccl")).select_by_value("2.27.7")
    p.answers(n)
    link, curve = p.browser.current_url, p.curve()
    p.browser.refresh()
    p.answers(0)
    assert p.curve() == curve and p.control("nccl").get_attribute("value") == "2.27.7"
    n = p.count()
    p.browser.back()
    p.answers(n)
    assert p.control("nccl").get_attribute("value") != "2.27.7"
    assert p.control("collective").get_attribute("value") == "all_gather"
    p.browser.back()
    p.wait(
        lambda: p.control("collective").get_attribute("value") == "all_reduce", "the first question"
    )
    p.browser.forward()
    p.wait(lambda: p.control("collective").get_attribute("value") == "all_gather", "forward")
    p.browser.get("about:blank")
    p.browser.get(link)
    p.answers(0)
    assert p.curve() == curve


@test
def keyboard_only(p):
    p.open()
    p.one("#tab-explore").send_keys(Keys.ARROW_RIGHT)
    assert p.view() == "cutover"
    active = p.browser.switch_to.active_element
    assert active.get_attribute("id") == "tab-cutover"
    active.send_keys(Keys.END)
    assert p.view() == "check"
    p.browser.switch_to.active_element.send_keys(Keys.HOME)
    assert p.view() == "explore"
    seen = set()
    for _ in range(30):
        ActionChains(p.browser).send_keys(Keys.TAB).perform()
        e = p.browser.switch_to.active_element
        seen.add((e.tag_name, e.get_attribute("type")))
    assert (
        ("select", "select-one") in seen
        and ("input", "range") in seen
        and ("input", "file") in seen
    ), seen


@test
def cutover_and_cancel(p):
    p.open({"v": "cutover", "q": {"nodes": "64,128", "sizes": "8B..16GiB"}})
    p.one("#view-cutover .primary").click()
    cancel = p.one("#view-cutover .bar button:nth-of-type(2)")
    p.wait(lambda: float(p.one("#view-cutover progress").get_attribute("value")) > 0, "progress")
    cancel.click()
    p.wait(lambda: p.one("#view-cutover .bar .busy").text == "Cancelled.", "that it is cancelled")
    assert not cancel.is_enabled()
    if p.server:
        p.wait(lambda: p.server.cancelled > 0, "the server stops as well")
    p.type("nodes", "1,2")
    p.type("sizes", "64KiB..256MiB:x4")
    p.one("#view-cutover .primary").click()
    p.wait(lambda: p.all("#view-cutover .result-body figure"), "figures", 60)
    assert p.question()["go"] is True
    p.shot("cutover")
    p.browser.refresh()
    p.wait(lambda: p.all("#view-cutover .result-body figure"), "figures after a reload", 60)


@test
def plan_a_layout(p):
    p.open({"v": "plan", "q": {"example": "llama-3-70b"}})
    assert "kind: step" in p.control("layout").get_attribute("value")
    p.type("fix", "pp=1 tp=4")
    p.one("#view-plan .primary").click()
    p.wait(lambda: p.all(".plan-rows tbody tr"), "layouts", 90)
    names = [cell.text for cell in p.all(".plan-rows tbody td:nth-child(2)")]
    assert len(set(names)) == len(names), names
    assert all(name.startswith("TP 4 PP 1") for name in names), names
    p.all(".plan-rows tbody tr button")[1].click()
    p.wait(lambda: p.all("#view-plan .point h2"), "one layout", 60)
    text = p.one("#view-plan .point").text
    assert "Not simulated again" not in text, text
    step = (
        json.loads([body for study, body in p.server.log if study == "step"][-1])
        if p.server
        else None
    )
    if step:
        assert "parallel: {" in step["files"][step["input"]]
    assert "The plan had" not in text, text
    p.shot("plan")
    # Variations go into the step.
    p.type("fix", "pp=1 tp=4")
    p.type("vary", "nodes=16,8")
    p.type("keep", "2")
    assert p.one("#view-plan .stale").is_displayed()
    p.one("#view-plan .primary").click()
    p.wait(lambda: len(p.all(".plan-rows tbody tr")) == 4, "layouts of two variations", 90)
    for place in range(4):
        p.all(".plan-rows tbody tr button")[place].click()
        p.wait(
            lambda: p.all("#view-plan .point h2")
            and "Simulating" not in p.one("#view-plan .point").text,
            "one layout",
            60,
        )
        text = p.one("#view-plan .point").text
        assert "Not simulated again" not in text, text
        print(
            "     place",
            place,
            "as in the plan" if "The plan had" not in text else "otherwise than in the plan",
        )


@test
def judge_a_log(p):
    p.open()
    p.drop("all_reduce.txt", open(SOURCE + "/tests/data/logs/coreweave-h100-64.txt").read())
    p.wait(lambda: p.view() == "judge", "the view of logs")
    p.wait(lambda: p.all("#view-judge .result-body h2"), "a verdict", 60)
    p.shot("judge")


@test
def check_rules(p):
    p.open({"v": "check", "q": {"rules": "kind: rules\nname: x\nrules: 7\n"}})
    p.one("#view-check .primary").click()
    p.wait(
        lambda: [
            e for e in p.field("rules").find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()
        ],
        "an error beside the rules",
    )
    p.open({"v": "check", "q": {}})
    p.one("#view-check .primary").click()
    p.wait(lambda: p.all("#view-check .result-body h2"), "verdicts", 60)
    repeat = p.one("#view-check .result-body section.repeat").get_attribute("textContent")
    assert "fabricast check " in repeat, repeat
    p.shot("check")


@test
def command_line_and_json(p):
    p.open({"v": "explore", "q": {"nodes": "4", "env": ["NCCL_ALGO=Ring;x y"]}}, wait=False)
    p.wait(lambda: p.view() == "explore", "the view")
    line = p.js(
        """return fabricast.api.command_line('bench',
        {topology: 'dgx-h100', nodes: '4', env: ["A=it's", 'B=1'], sharp: true})"""
    )
    assert (
        line == "fabricast bench --topology dgx-h100 --nodes 4 --env 'A=it'\\''s' --env B=1 --sharp"
    ), line


@test
def token_in_another_tab(p):
    p.open()
    link = p.browser.current_url
    first = p.browser.current_window_handle
    p.browser.switch_to.new_window("tab")
    p.browser.get(link)
    p.answers(0)
    p.browser.close()
    p.browser.switch_to.window(first)
    # Nobody to ask: the address is pasted.
    p.js("sessionStorage.removeItem('fabricast-token')")
    p.browser.get("about:blank")
    p.browser.get(link)
    box = p.wait(lambda: p.one("#token-input"), "a place for the token")
    assert "fabricast ui" in p.one("#banner").text
    box.send_keys(p.url + Keys.ENTER)
    p.answers(0)
    assert not p.one("#banner").is_displayed()


@test
def save_as_json(p):
    p.open()
    p.js(
        """
        window.saved = [];
        const real = HTMLAnchorElement.prototype.click;
        HTMLAnchorElement.prototype.click = function () {
          if (this.download) fetch; window.saved.push([this.download, this.href]);
        };"""
    )
    p.one("#view-explore .bar .tools button").click()
    name, href = p.js("return window.saved[0]")
    assert name == "fabricast-bench.json" and href.startswith("blob:"), (name, href)


@test
def kept_answers(p):
    """Answers that the page has are drawn without the server; how fast is for a reader to judge."""
    p.open()
    select = p.control("collective")
    for word in ("all_gather", "all_reduce"):
        n = p.count()
        Select(select).select_by_value(word)
        p.answers(n)
    n = p.count()
    asked = "return performance.getEntriesByType('resource').length"
    before = p.js(asked)
    for _ in range(6):
        for word in ("all_gather", "all_reduce"):
            Select(select).select_by_value(word)
            time.sleep(0.15)
    p.answers(n + 5)
    took = sorted(p.js("return fabricast.answer_ms.slice(arguments[0])", n))
    print(f"     drawn in {took[len(took) // 2]:.0f} ms, at most {took[-1]:.0f} ms")
    assert p.js(asked) == before, "the server was asked again"


@test
def nothing_becomes_markup(p):
    p.open({"v": "explore", "q": {"sizes": "<img src=x onerror=alert(1)>"}}, wait=False)
    p.wait(
        lambda: [
            e for e in p.field("sizes").find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()
        ],
        "an error",
    )
    assert not p.all("#main img")
    p.drop("<b>.yaml", 'kind: node\nname: "<img src=x>"\n')
    time.sleep(1)
    assert not p.all("#main img") and not p.all("#main b")


@test
def no_serious_axe_faults(p):
    if not p.axe:
        return
    for view in ("explore", "cutover", "plan", "judge", "check"):
        question = {"v": view, "q": {}, "go": view in ("check",)}
        if view == "explore":
            question.update(a={}, q={"nodes": "4"}, at=1 << 20)
        if view == "cutover":
            question.update(q={"nodes": "1,2", "sizes": "64KiB..256MiB:x4"}, go=True)
        p.open(question)
        if view in ("check", "cutover"):
            p.wait(lambda: p.all(f"#view-{view} .result-body h2"), "an answer", 60)
        time.sleep(1.5)
        # The policy of the page lets no script in but its own: the browser is told to run this one.
        p.browser.execute_cdp_cmd("Runtime.evaluate", {"expression": p.axe})
        found = p.browser.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations))"
        )
        bad = [(v["impact"], v["id"], [n["html"][:160] for n in v["nodes"]][:4]) for v in found]
        for one in bad:
            print("   axe", view, *one)
        assert not [b for b in bad if b[0] in ("serious", "critical")], view


@test
def curves_follow(p):
    """From input to painted curve, over 2 to 64 nodes and a variable: dgx-h100, 31 sizes."""
    p.open()
    first, whole = [], []
    for value in (4, 8, 16, 32, 64, 2, 4, 8, 16, 32, 64, 2):
        before = p.count()
        p.type("nodes", str(value), Keys.ENTER)
        p.answers(before)
        first.append(p.js("return fabricast.last_following_ms"))
        whole.append(p.js("return fabricast.last_answer_ms"))
        time.sleep(0.9)  # so that the next change meets an idle server
    for took, what in ((first, "its first rows are drawn"), (whole, "the whole answer is drawn")):
        new = took[:6]
        print(
            f"     after a change of nodes {what} in {statistics.median(new):.0f} ms (median of "
            f"the first visits), {statistics.median(took[6:]):.0f} ms again: "
            f"{[round(one) for one in took]}"
        )
    assert all(0 < one <= other for one, other in zip(first, whole)), (first, whole)


def start(fabricast):
    server = subprocess.Popen([fabricast, "ui"], stdout=subprocess.PIPE, text=True)
    return server, server.stdout.readline().strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fabricast")
    parser.add_argument("--shots")
    parser.add_argument("--only", default="")
    parser.add_argument("--dark", action="store_true")
    a = parser.parse_args()
    if a.shots:
        os.makedirs(a.shots, exist_ok=True)
    browser = open_browser(1400, 1000, dark=a.dark)
    browser.set_script_timeout(180)
    fabricast = Path(a.fabricast).resolve()
    server, url = start(fabricast)
    page = Page(browser, url, a.shots)
    page.server = None
    page.matrix = "gcp-a3ultra-h200-raw-escape-codes.txt"
    page.release = "2.30.7"
    page.axe = AXE.read_text()
    page.node_yaml = subprocess.run(
        [fabricast, "topo", "hgx-b200", "--format", "yaml"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    bad = 0
    known = re.compile(r"status of 4\d\d|<svg> attribute width")
    for one in tests:
        if a.only and one.__name__ not in a.only.split(","):
            continue
        began = time.time()
        try:
            one(page)
            said = [
                entry["message"]
                for entry in browser.get_log("browser")
                if entry["level"] == "SEVERE"
            ]
            faults = [message for message in said if not known.search(message)]
            assert not faults, faults
            print(f"ok   {one.__name__}  {time.time() - began:.1f} s", flush=True)
        except Exception as error:
            bad += 1
            print(f"BAD  {one.__name__}: {error}", flush=True)
            traceback.print_exc(limit=3)
            if a.shots:
                browser.save_screenshot(os.path.join(a.shots, "bad-" + one.__name__ + ".png"))
    browser.quit()
    server.send_signal(signal.SIGINT)
    code = server.wait(timeout=20)
    if code != 0:
        bad += 1
        print(f"BAD  the server ended with {code}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
