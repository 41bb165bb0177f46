// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterTransferOwnershipTest is PaymasterTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = stranger;
        expectNotOwner(caller);
        vm.prank(caller);
        paymaster.transferOwnership(caller);
    }

    function test_WhenTheCallerIsTheOwner() external {
        vm.prank(owner);
        paymaster.transferOwnership(stranger);
        assertEq(paymaster.owner(), owner);
        assertEq(paymaster.pendingOwner(), stranger);
    }
}
