// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract TreasuryTransferOwnershipTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.transferOwnership(caller);
    }

    function test_WhenTheCallerIsTheOwner() external {
        vm.prank(owner);
        treasury.transferOwnership(outsider);
        assertEq(treasury.owner(), owner);
        assertEq(treasury.pendingOwner(), outsider);
    }
}
