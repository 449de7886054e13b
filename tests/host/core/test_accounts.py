# SPDX-License-Identifier: BSD-2-Clause
"""The arithmetic of quotas in C against Python, and what both must guarantee."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.headers import enums
from cellreap.model.core import HEADERS, load_core
from cellreap.system.config.quotas import ShareError, share
from cellreap.system.config.tables import Claim

STATUS = enums("status.h")["cr_status"]
FAIR = 2**64 - 1

CLAIMS = st.lists(
    st.builds(
        Claim,
        need=st.integers(0, 20),
        asked=st.one_of(st.none(), st.integers(0, 60), st.just(2**32 - 2)),
        may=st.booleans(),
    ),
    max_size=12,
)


def core() -> tuple[Any, Any]:
    """(ffi, lib) with the declarations of accounts.h."""
    return load_core((*HEADERS, "limits.h", "accounts.h"))


def share_in_c(total: int, claims: list[Claim]) -> tuple[int, list[int]]:
    """(status, quotas) of the core."""
    ffi, lib = core()
    rows = [
        {"need": each.need, "asked": FAIR if each.asked is None else each.asked, "may": each.may}
        for each in claims
    ]
    out = ffi.new("uint64_t[]", [0xDEAD] * (len(claims) + 1))
    status = lib.cr_accounts_share(total, ffi.new("cr_claim[]", rows), len(claims), out)
    assert out[len(claims)] == 0xDEAD
    return status, list(out[0 : len(claims)])


@given(st.integers(0, 400), CLAIMS)
def test_shares_are_those_of_the_reference(total: int, claims: list[Claim]) -> None:
    """Both sides divide alike, or refuse for the same reason."""
    status, quotas = share_in_c(total, claims)
    try:
        expected = share(total, claims)
    except ShareError as error:
        below = str(error) == "below the need"
        # Both may be wrong at once; the core stops at the first claim that it cannot meet.
        reasons = {STATUS["CR_ERR_ARG"]} if below else {STATUS["CR_ERR_FULL_NODES"]}
        assert status in reasons | ({STATUS["CR_ERR_FULL_NODES"]} if below else set())
        return
    assert (status, quotas) == (STATUS["CR_OK"], expected)


@given(st.integers(0, 400), CLAIMS)
def test_a_share_is_fair_and_fits(total: int, claims: list[Claim]) -> None:
    """Nothing is given twice, all get their need, and those without a quota of their own get the
    same part.
    """
    status, quotas = share_in_c(total, claims)
    if status != STATUS["CR_OK"]:
        return
    assert sum(quotas) <= total
    for claim, quota in zip(claims, quotas, strict=True):
        assert quota >= claim.need
        assert claim.asked is None or quota == claim.asked
    parts = {
        quota - claim.need
        for claim, quota in zip(claims, quotas, strict=True)
        if claim.asked is None and claim.may
    }
    assert len(parts) <= 1
    sharers = sum(claim.asked is None and claim.may for claim in claims)
    assert not sharers or total - sum(quotas) < sharers


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "drop"]), st.integers(0, 8), st.booleans()), max_size=60
)


@given(st.integers(0, 40), st.integers(0, 40), OPERATIONS)
def test_a_tally_keeps_its_quota_and_its_need(
    quota: int, need: int, operations: list[tuple[str, int, bool]]
) -> None:
    """An account never exceeds its quota, and its need fits at any time, whatever else it adds."""
    need = min(need, quota)
    ffi, lib = core()
    used = needed = 0
    for what, n, for_need in operations:
        tally = ffi.new(
            "cr_tally *", {"quota": quota, "need": need, "used": used, "needed": needed}
        )
        if what == "add":
            fits = needed + n <= need if for_need else used + n + (need - needed) <= quota
            assert bool(lib.cr_tally_has(tally, n, for_need)) == fits
            if fits:
                used, needed = used + n, needed + (n if for_need else 0)
        elif n <= (needed if for_need else used - needed):
            used, needed = used - n, needed - (n if for_need else 0)
        assert used <= quota
        rest = {"quota": quota, "need": need, "used": used, "needed": needed}
        assert lib.cr_tally_has(ffi.new("cr_tally *", rest), need - needed, 1)


def test_an_account_over_its_quota_gets_nothing() -> None:
    """Notices may stand where their edges stood, so a use can pass the quota for a while."""
    ffi, lib = core()
    tally = ffi.new("cr_tally *", {"quota": 5, "need": 3, "used": 6, "needed": 1})
    assert not lib.cr_tally_has(tally, 1, 0)
    assert not lib.cr_tally_has(tally, 1, 1)
    assert not lib.cr_tally_has(tally, FAIR, 0)


def test_shares_do_not_wrap() -> None:
    """Quotas whose sum is beyond 64 bits are refused."""
    status, _ = share_in_c(FAIR - 1, [Claim(0, FAIR - 1, True), Claim(0, FAIR - 1, True)])
    assert status == STATUS["CR_ERR_FULL_NODES"]


@pytest.mark.parametrize("sharers", [1, 3, 127])
def test_who_cannot_use_more_shares_nothing(sharers: int) -> None:
    """What a PD without spaces could never use goes to those with spaces."""
    claims = [Claim(2, None, True)] * sharers + [Claim(1, None, False)]
    status, quotas = share_in_c(1000, claims)
    assert status == STATUS["CR_OK"]
    assert quotas[-1] == 1
    assert quotas[0] == 2 + (1000 - 2 * sharers - 1) // sharers


def test_notices_count_for_their_account_until_they_are_finished() -> None:
    """Also a failed notice counts. Account 0 stands for none."""
    ffi, lib = load_core((*HEADERS, "work.h"))
    size = lib.cr_work_bytes(8, 4)
    memory, out = ffi.new("uint64_t[]", size // 8), ffi.new("cr_work **")
    assert lib.cr_work_init(memory, size, 8, 4, out) == STATUS["CR_OK"]
    work = out[0]
    kind = enums("policy.h")["cr_notice_kind"]["CR_NOTICE_FREE"]
    tokens = []
    for account in (3, 3, 0, 2):
        notice = ffi.new("cr_work_notice *", {"kind": kind, "space": 1, "account": account})
        assert lib.cr_work_put(work, 1, notice) == STATUS["CR_OK"]
        tokens.append(notice.token)
    wrong = ffi.new("cr_work_notice *", {"kind": kind, "account": 4})
    assert lib.cr_work_put(work, 1, wrong) == STATUS["CR_ERR_ARG"]

    def charged() -> list[int]:
        return [lib.cr_work_charged(work, account) for account in range(5)]

    assert charged() == [0, 0, 1, 2, 0]
    fetched, count = ffi.new("cr_work_notice[8]"), ffi.new("uint32_t *")
    assert lib.cr_work_fetch(work, 1, 8, fetched, count) == STATUS["CR_OK"]
    for token, failed in ((tokens[0], 0), (tokens[1], 1)):
        answer = ffi.new("cr_work_answer *", {"token": token, "failed": failed})
        assert lib.cr_work_finish(work, 1, answer, fetched) == STATUS["CR_OK"]
    assert charged() == [0, 0, 1, 1, 0]
    failed_too = ffi.new("uint32_t *")
    while lib.cr_work_take(work, 1, fetched, failed_too) == STATUS["CR_OK"]:
        pass
    assert charged() == [0, 0, 0, 0, 0]
