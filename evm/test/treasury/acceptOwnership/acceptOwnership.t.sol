// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract TreasuryAcceptOwnershipTest is TreasuryTest {
    function test_RevertWhen_TheCallerWasNotNamed() external {
        vm.prank(owner);
        treasury.transferOwnership(outsider);
        expectNotOwner(recipient);
        vm.prank(recipient);
        treasury.acceptOwnership();
    }

    function test_WhenTheCallerWasNamed() external {
        vm.prank(owner);
        treasury.transferOwnership(outsider);
        vm.prank(outsider);
        treasury.acceptOwnership();
        assertEq(treasury.owner(), outsider);
    }
}
