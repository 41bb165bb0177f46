// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositoryAcceptOwnershipTest is DepositoryTest {
    function test_RevertWhen_TheCallerWasNotNamed() external {
        vm.prank(owner);
        depository.transferOwnership(outsider);
        expectNotOwner(user);
        vm.prank(user);
        depository.acceptOwnership();
    }

    function test_WhenTheCallerWasNamed() external {
        vm.prank(owner);
        depository.transferOwnership(outsider);
        vm.prank(outsider);
        depository.acceptOwnership();
        assertEq(depository.owner(), outsider);
    }
}
