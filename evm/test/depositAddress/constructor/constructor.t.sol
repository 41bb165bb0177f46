// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddress} from "../../../src/DepositAddress.sol";
import {DepositAddressFactoryTest} from "../../depositAddressFactory/DepositAddressFactoryTest.sol";

contract DepositAddressConstructorTest is DepositAddressFactoryTest {
    function testFuzz_WhenItIsGivenATreasury(address treasury_, address caller) external {
        vm.prank(caller);
        DepositAddress created = new DepositAddress(treasury_);
        assertEq(created.treasury(), treasury_);
        assertEq(created.factory(), caller);
    }
}
