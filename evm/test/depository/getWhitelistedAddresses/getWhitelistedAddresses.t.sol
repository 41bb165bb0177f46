// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositoryTest} from "../DepositoryTest.sol";

contract GetWhitelistedAddressesTest is DepositoryTest {
    function test_GivenNoAddressIsApproved() external {
        vm.prank(owner);
        depository.removeFromWhitelist(receiver);
        assertEq(depository.getWhitelistedAddresses().length, 0);
    }

    function test_GivenSomeAreApproved() external {
        _approveReceiver(outsider);
        address[] memory receivers = depository.getWhitelistedAddresses();
        assertEq(receivers.length, 2);
        assertEq(receivers[0], receiver);
        assertEq(receivers[1], outsider);
    }
}
