// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract IsPaidTest is TreasuryTest {
    function testFuzz_GivenTheIntentWasPaid(uint256 intentId) external {
        _pay(intentId, address(token), recipient, 1);
        assertTrue(treasury.isPaid(intentId), "paid");
    }

    function testFuzz_GivenTheIntentWasNotPaid(uint256 intentId) external {
        if (intentId == INTENT) intentId = 0;
        _pay(INTENT, address(token), recipient, 1);
        assertTrue(!treasury.isPaid(intentId), "not paid");
    }
}
