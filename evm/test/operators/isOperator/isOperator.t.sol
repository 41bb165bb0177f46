// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OperatorsTest, PaymasterOperators, TreasuryOperators} from "../OperatorsTest.sol";

abstract contract IsOperatorTest is OperatorsTest {
    function test_GivenTheAccountIsAnOperator() external view {
        assertTrue(operated.isOperator(operator), "operator");
    }

    function testFuzz_GivenTheAccountIsNotAnOperator(address account) external view {
        if (account == operator) account = owner;
        assertTrue(!operated.isOperator(account), "not an operator");
    }
}

contract TreasuryIsOperatorTest is IsOperatorTest, TreasuryOperators {}

contract PaymasterIsOperatorTest is IsOperatorTest, PaymasterOperators {}
