// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../../src/Depository.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract RemoveFromWhitelistTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.removeFromWhitelist(receiver);
    }

    function test_RevertGiven_TheReceiverIsNotWhitelisted() external {
        vm.expectRevert(Depository.NotWhitelisted.selector);
        vm.prank(owner);
        depository.removeFromWhitelist(outsider);
    }

    function test_GivenTheReceiverIsWhitelisted() external {
        vm.expectEmit(address(depository));
        emit Depository.RemovedFromWhitelist(receiver);
        vm.prank(owner);
        depository.removeFromWhitelist(receiver);

        vm.expectRevert(Depository.NotWhitelisted.selector);
        vm.prank(user);
        depository.depositNative{value: 1}(ID, receiver);
    }
}
