// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddress} from "../../../src/DepositAddress.sol";
import {DepositAddressFactoryTest} from "../../depositAddressFactory/DepositAddressFactoryTest.sol";

contract AddressFactoryTest is DepositAddressFactoryTest {
    function test_GivenADepositAddressIsDeployed() external {
        _deploy();
        assertEq(DepositAddress(depositAddress).factory(), address(factory));
    }
}
