// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterAcceptOwnershipTest is PaymasterTest {
    function test_RevertWhen_TheCallerWasNotNamed() external {
        vm.prank(owner);
        paymaster.transferOwnership(outsider);
        expectNotOwner(user);
        vm.prank(user);
        paymaster.acceptOwnership();
    }

    function test_WhenTheCallerWasNamed() external {
        vm.prank(owner);
        paymaster.transferOwnership(outsider);
        vm.prank(outsider);
        paymaster.acceptOwnership();
        assertEq(paymaster.owner(), outsider);
    }
}
