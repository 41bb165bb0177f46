// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddress} from "../../../src/DepositAddress.sol";
import {DepositAddressFactory} from "../../../src/DepositAddressFactory.sol";
import {IDepositAddressFactory} from "../../../src/IDepositAddressFactory.sol";
import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract DepositAddressFactoryConstructorTest is DepositAddressFactoryTest {
    function test_RevertWhen_TheTreasuryHasNoCode() external {
        vm.expectRevert(abi.encodeWithSelector(IDepositAddressFactory.InvalidTreasury.selector, outsider));
        new DepositAddressFactory(outsider);
    }

    function test_WhenTheTreasuryHasCode() external view {
        DepositAddress implementation = DepositAddress(factory.implementation());
        assertEq(implementation.treasury(), address(treasury));
        assertEq(implementation.factory(), address(factory));
    }
}
