// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterAcceptOwnershipTest is PaymasterTest {
    function test_RevertWhen_TheCallerWasNotNamed() external {
        vm.prank(owner);
        paymaster.transferOwnership(stranger);
        expectNotOwner(user);
        vm.prank(user);
        paymaster.acceptOwnership();
    }

    function test_WhenTheCallerWasNamed() external {
        vm.prank(owner);
        paymaster.transferOwnership(stranger);
        vm.prank(stranger);
        paymaster.acceptOwnership();
        assertEq(paymaster.owner(), stranger);
    }
}
