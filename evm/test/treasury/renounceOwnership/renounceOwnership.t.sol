// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract RenounceOwnershipTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.renounceOwnership();
    }

    function test_RevertWhen_TheCallerIsTheOwner() external {
        vm.expectRevert(ITreasury.OwnerRequired.selector);
        vm.prank(owner);
        treasury.renounceOwnership();
    }
}
