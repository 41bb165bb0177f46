// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOperators} from "../../../src/IOperators.sol";
import {IPaymaster} from "../../../src/IPaymaster.sol";
import {Paymaster} from "../../../src/Paymaster.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterConstructorTest is PaymasterTest {
    function test_RevertWhen_TheOwnerIsZero() external {
        vm.expectRevert(abi.encodeWithSignature("OwnableInvalidOwner(address)", address(0)));
        new Paymaster(address(0), address(depository), new address[](0));
    }

    function test_RevertWhen_TheDepositoryHasNoCode() external {
        vm.expectRevert(abi.encodeWithSelector(IPaymaster.InvalidDepository.selector, outsider));
        new Paymaster(owner, outsider, new address[](0));
    }

    function test_RevertWhen_AnOperatorIsGivenTwice() external {
        vm.expectRevert(abi.encodeWithSelector(IOperators.InvalidOperator.selector, operator));
        new Paymaster(owner, address(depository), _two(operator, operator));
    }

    function test_WhenTheOperatorsAreDistinct() external {
        Paymaster two = new Paymaster(owner, address(depository), _two(operator, outsider));
        assertTrue(two.isOperator(operator) && two.isOperator(outsider), "both may deposit");
        assertEq(two.owner(), owner);
    }

    function _two(address first, address second) private pure returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (first, second);
    }
}
