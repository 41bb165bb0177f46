// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract SetGuardianTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = guardian;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.setGuardian(caller);
    }

    function test_WhenTheGuardianIsZero() external {
        _set(address(0));
        vm.expectRevert(abi.encodeWithSelector(ITreasury.NotGuardian.selector, guardian));
        vm.prank(guardian);
        treasury.pause();
        _pause();
    }

    function test_WhenTheGuardianIsNotZero() external {
        vm.expectEmit(address(treasury));
        emit ITreasury.GuardianSet(outsider);
        _set(outsider);
        assertEq(treasury.guardian(), outsider);
    }

    function _set(address account) private {
        vm.prank(owner);
        treasury.setGuardian(account);
    }
}
