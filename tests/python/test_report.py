"""Reports as tables of pandas, pages, pictures."""

import pickle

import fabricast
import pandas
import pytest


@pytest.fixture(scope="module")
def report():
    return fabricast.bench(topology="dgx-h100", nodes=[1, 2], sizes="1KiB..1GiB:x64")


def test_a_frame_has_the_types_and_units_of_the_report(report):
    frame = report.to_pandas()
    for column in report.json["tables"][0]["columns"]:
        kind = frame[column["name"]].dtype.name
        assert (
            kind
            == {"string": "object", "boolean": "boolean", "integer": "Int64", "number": "float64"}[
                column["type"]
            ]
        )
        assert frame.attrs["units"].get(column["name"]) == column.get("unit")
    rows = [list(row) for row in frame.itertuples(index=False)]
    assert rows == report.json["tables"][0]["rows"]


def test_no_figure_is_na():
    frame = fabricast.bench(
        topology="dgx-h100", nodes=2, sizes="1MiB", fault="link node0: mlx5_0 -> leaf0.0 down"
    ).to_pandas()
    assert list(frame["completes"]) == [False]
    assert pandas.isna(frame["time_us"]).all()


def test_tables_by_name(report):
    assert list(report.tables) == [table["name"] for table in report.json["tables"]]
    assert len(report.to_pandas("runs")) == len(report.to_pandas("rows"))
    assert report.tables["rows"]["nodes"][0] == 1
    with pytest.raises(KeyError):
        report.to_pandas("row")
    with pytest.raises(fabricast.Error) as caught:
        report.csv("row")
    assert "rows" in caught.value.hint


def test_a_table_is_asked_as_a_dict_of_columns(report):
    table = report.table()
    assert list(table) == [column.name for column in table.columns]
    assert "time_us" in table and "time" not in table
    assert pickle.loads(pickle.dumps(table)).rows == table.rows


def test_a_report_travels(report):
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(report))))
    assert (other.study, other.answer, other.notes, other.holds, other.text, other.json) == (
        report.study,
        report.answer,
        report.notes,
        report.holds,
        report.text,
        report.json,
    )
    assert other.table("runs").rows == report.table("runs").rows
    assert other.csv("runs") == report.csv("runs") and other.csv() == report.csv()
    assert other.html() == report.html()
    with pytest.raises(fabricast.Error, match="no table"):
        other.csv("row")
    with pytest.raises(TypeError, match="named by a str"):
        report.csv(3)


def test_a_page_and_a_notebook(report, tmp_path):
    page = report.html(tmp_path / "page.html")
    assert page.startswith("<!DOCTYPE html>") or page.startswith("<!doctype html>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    shown = report._repr_html_()
    assert "<table>" in shown and "time_us" in shown and report.answer.split(":")[0] in shown


def test_a_picture(report):
    matplotlib = pytest.importorskip("matplotlib")  # the module does without it, but for plot()
    matplotlib.use("Agg")
    axes = report.plot()
    assert len(axes.lines) == 2
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size_bytes", "busbw_GBps")
    assert (
        list(axes.lines[0].get_ydata())
        == report.to_pandas().query("nodes == 1")["busbw_GBps"].tolist()
    )
    assert len(report.plot(y="time_us").collections) == 2  # bands


def test_a_second_report_is_drawn_into_the_same_picture(report):
    matplotlib = pytest.importorskip("matplotlib")  # the module does without it, but for plot()
    matplotlib.use("Agg")
    slow = fabricast.bench(topology="dgx-a100", nodes=2, sizes="1KiB..1GiB:x64")
    axes = report.plot(ax=slow.plot())
    assert len(axes.lines) == 3
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > report.to_pandas()["busbw_GBps"].max()
