"""The transaction over a result folder."""

import pytest

from neardup.errors import OutputError
from neardup.output import OutputFolder


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_appear_together_at_the_commit(tmp_path):
    with OutputFolder(tmp_path / "deep" / "out") as out:
        out.file("a.txt").write_text("a")
        out.file("b.txt").write_text("b")
        out.file("never written")
        assert not (tmp_path / "deep" / "out" / "a.txt").exists()
        out.commit()
    assert listed(tmp_path / "deep" / "out") == ["a.txt", "b.txt"]
    assert (tmp_path / "deep" / "out" / "a.txt").read_text() == "a"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_nothing(tmp_path, error):
    with pytest.raises(error), OutputFolder(tmp_path / "deep" / "out") as out:
        out.file("a.txt").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_leaving_without_a_commit_leaves_nothing(tmp_path):
    (tmp_path / "mine").write_text("kept")
    with OutputFolder(tmp_path) as out:
        out.file("a.txt").write_text("half")
    assert listed(tmp_path) == ["mine"]


def test_an_existing_file_is_refused_unless_forced(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(OutputError, match=r"a\.txt exists already.*--force"), OutputFolder(tmp_path) as out:
        out.file("a.txt")
    with OutputFolder(tmp_path, force=True) as out:
        out.file("a.txt").write_text("new")
        assert (tmp_path / "a.txt").read_text() == "old"
        out.commit()
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_file_that_appears_meanwhile_is_refused(tmp_path):
    with pytest.raises(OutputError, match="exists already"), OutputFolder(tmp_path) as out:
        out.file("a.txt").write_text("ours")
        (tmp_path / "a.txt").write_text("theirs")
        out.commit()
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert listed(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/b", "..", "", ".", "..\\a", "c:a", "a\0b"])
def test_names_stay_inside_the_folder(tmp_path, name):
    with pytest.raises(OutputError, match="not a file name"), OutputFolder(tmp_path) as out:
        out.file(name)


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(OutputError, match="file cannot be created as a folder"),
        OutputFolder(tmp_path / "file"),
    ):
        pass
    (tmp_path / "out" / "a.txt").mkdir(parents=True)
    with (
        pytest.raises(OutputError, match="is a folder"),
        OutputFolder(tmp_path / "out", force=True) as out,
    ):
        out.file("a.txt")


def test_a_full_disk_is_an_output_error(tmp_path):
    import errno

    with pytest.raises(OutputError, match="No space left"), OutputFolder(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_asking_for_a_name_again_gives_the_same_path(tmp_path):
    with OutputFolder(tmp_path) as out:
        assert out.file("a.txt") == out.file("a.txt") != out.file("b.txt")
