// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositoryTransferOwnershipTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.transferOwnership(caller);
    }

    function test_WhenTheCallerIsTheOwner() external {
        vm.prank(owner);
        depository.transferOwnership(outsider);
        assertEq(depository.owner(), owner);
        assertEq(depository.pendingOwner(), outsider);
    }
}
