// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract AddOperatorTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.addOperator(stranger);
    }

    function test_RevertWhen_TheOperatorIsZero() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidOperator.selector, address(0)));
        _add(address(0));
    }

    function test_RevertGiven_TheAccountIsAnOperator() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidOperator.selector, operator));
        _add(operator);
    }

    function test_GivenTheAccountIsNotAnOperator() external {
        vm.expectEmit(address(treasury));
        emit ITreasury.OperatorAdded(stranger);
        _add(stranger);

        vm.prank(stranger);
        treasury.pay(INTENT, address(token), recipient, 1);
        assertEq(token.balanceOf(recipient), 1);
    }

    function _add(address account) private {
        vm.prank(owner);
        treasury.addOperator(account);
    }
}
