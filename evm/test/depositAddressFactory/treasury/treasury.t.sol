// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract FactoryTreasuryTest is DepositAddressFactoryTest {
    function test_GivenATreasuryWasGivenAtConstruction() external view {
        assertEq(factory.treasury(), address(treasury));
    }
}
