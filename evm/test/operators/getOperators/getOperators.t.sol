// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract GetOperatorsTest is TreasuryTest {
    function test_GivenThereIsNoOperator() external {
        vm.prank(owner);
        treasury.removeOperator(operator);
        assertEq(treasury.getOperators().length, 0);
    }

    function test_GivenThereAreOperators() external {
        vm.prank(owner);
        treasury.addOperator(stranger);
        address[] memory operators = treasury.getOperators();
        assertEq(operators.length, 2);
        assertEq(operators[0], operator);
        assertEq(operators[1], stranger);
    }
}
