// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract IsOperatorTest is TreasuryTest {
    function test_GivenTheAccountIsAnOperator() external view {
        assertTrue(treasury.isOperator(operator), "operator");
    }

    function testFuzz_GivenTheAccountIsNotAnOperator(address account) external view {
        if (account == operator) account = owner;
        assertTrue(!treasury.isOperator(account), "not an operator");
    }
}
