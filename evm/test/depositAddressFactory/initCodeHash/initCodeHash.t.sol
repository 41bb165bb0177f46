// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactory} from "../../../src/DepositAddressFactory.sol";
import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract InitCodeHashTest is DepositAddressFactoryTest {
    function test_GivenTwoFactoriesOfOneTreasury() external {
        DepositAddressFactory other = new DepositAddressFactory(address(treasury));
        assertTrue(other.initCodeHash() != factory.initCodeHash(), "bound to the implementation");
    }

    function test_GivenADepositAddressIsDeployed() external {
        _deploy();
        bytes memory initCode = bytes.concat(hex"3d603380600a3d3981f3", depositAddress.code);
        assertTrue(factory.initCodeHash() == keccak256(initCode), "the init code is what was deployed");
    }
}
