"""Which columns of a table those of a source become."""

from __future__ import annotations

import pytest

from lakeledger.errors import Invalid
from lakeledger.pipelines.naming import Naming

TABLE = {"type": "struct", "fields": [{"name": "id", "id": 1}, {"name": "price", "id": 2}]}


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Price (EUR)", "Price_EUR"),
        (" a,b;c{d}e=f\tg\nh ", "a_b_c_d_e_f_g_h"),
        ("net.amount", "net_amount"),
        ("Größe", "Größe"),
        ("_id", "_id"),
        ("", "_c0"),
        (" () ", "_c0"),
    ],
)
def test_a_safe_name_has_letters_digits_and_underscores(name: str, safe: str) -> None:
    assert Naming(safe=True).of([name]) == [safe]
    assert Naming().of([name]) == [name]


def test_two_columns_never_become_one() -> None:
    with pytest.raises(Invalid, match=r"columns 'a b' and 'A-b' would both be A_b: name one of them in renamed_columns"):
        Naming(safe=True).of(["a b", "A-b"])
    assert Naming({"other": "A-b"}, safe=True).of(["a b", "A-b"]) == ["a_b", "other"]
    assert Naming({"lower": "name"}).of(["Name", "name"]) == ["Name", "lower"]
    with pytest.raises(Invalid, match="the data has both 'amount' and 'price'"):
        Naming({"amount": "price"}).of(["id", "price", "amount"])


def test_a_renamed_column_is_found_by_its_id_under_either_name() -> None:
    naming = Naming({"amount": "Price"})
    assert naming.of(["id", "price"]) == naming.of(["id", "amount"]) == ["id", "amount"]
    assert naming.renames("orders", TABLE) == {2: "amount"}
    done = {"type": "struct", "fields": [{"name": "id", "id": 1}, {"name": "amount", "id": 2}]}
    assert naming.renames("orders", done) == {}
    with pytest.raises(Invalid, match="price of orders is id now, but it has both"):
        Naming({"id": "price"}).renames("orders", TABLE)
    naming.check_found("orders", TABLE, ["id"])
    with pytest.raises(Invalid, match=r"Price is amount now, but neither orders nor the data has them: it has id"):
        naming.check_found("orders", None, ["id"])
