// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract RemoveOperatorTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.removeOperator(operator);
    }

    function test_RevertGiven_TheAccountIsNotAnOperator() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.NotOperator.selector, stranger));
        _remove(stranger);
    }

    function test_GivenTheAccountIsAnOperator() external {
        vm.expectEmit(address(treasury));
        emit ITreasury.OperatorRemoved(operator);
        _remove(operator);

        vm.expectRevert(abi.encodeWithSelector(ITreasury.NotOperator.selector, operator));
        _pay(INTENT, address(token), recipient, 1);
    }

    function _remove(address account) private {
        vm.prank(owner);
        treasury.removeOperator(account);
    }
}
