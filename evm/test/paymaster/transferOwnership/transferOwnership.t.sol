// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterTransferOwnershipTest is PaymasterTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        paymaster.transferOwnership(caller);
    }

    function test_WhenTheCallerIsTheOwner() external {
        vm.prank(owner);
        paymaster.transferOwnership(outsider);
        assertEq(paymaster.owner(), owner);
        assertEq(paymaster.pendingOwner(), outsider);
    }
}
