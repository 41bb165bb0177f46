// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OperatorsTest, PaymasterOperators, TreasuryOperators} from "../OperatorsTest.sol";

abstract contract GetOperatorsTest is OperatorsTest {
    function test_GivenThereIsNoOperator() external {
        vm.prank(owner);
        operated.removeOperator(operator);
        assertEq(operated.getOperators().length, 0);
    }

    function test_GivenThereAreOperators() external {
        vm.prank(owner);
        operated.addOperator(outsider);
        address[] memory operators = operated.getOperators();
        assertEq(operators.length, 2);
        assertEq(operators[0], operator);
        assertEq(operators[1], outsider);
    }
}

contract TreasuryGetOperatorsTest is GetOperatorsTest, TreasuryOperators {}

contract PaymasterGetOperatorsTest is GetOperatorsTest, PaymasterOperators {}
