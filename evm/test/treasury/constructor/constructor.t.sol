// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOperators} from "../../../src/IOperators.sol";
import {Treasury} from "../../../src/Treasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract TreasuryConstructorTest is TreasuryTest {
    function test_RevertWhen_TheOwnerIsZero() external {
        vm.expectRevert(abi.encodeWithSignature("OwnableInvalidOwner(address)", address(0)));
        new Treasury(address(0), new address[](0));
    }

    function test_RevertWhen_AnOperatorIsZero() external {
        vm.expectRevert(abi.encodeWithSelector(IOperators.InvalidOperator.selector, address(0)));
        new Treasury(owner, new address[](1));
    }

    function test_RevertWhen_AnOperatorIsGivenTwice() external {
        address[] memory operators = new address[](2);
        (operators[0], operators[1]) = (operator, operator);
        vm.expectRevert(abi.encodeWithSelector(IOperators.InvalidOperator.selector, operator));
        new Treasury(owner, operators);
    }

    function test_WhenTheOperatorsAreDistinct() external {
        address[] memory operators = new address[](2);
        (operators[0], operators[1]) = (operator, outsider);
        vm.expectEmit();
        emit IOperators.OperatorAdded(operator);
        vm.expectEmit();
        emit IOperators.OperatorAdded(outsider);
        Treasury two = new Treasury(owner, operators);

        assertTrue(two.isOperator(operator) && two.isOperator(outsider), "both may pay");
        assertEq(two.owner(), owner);
        assertEq(two.guardian(), address(0));
        assertEq(two.outflowAvailable(NATIVE), 0);
    }
}
