// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract ImplementationTest is DepositAddressFactoryTest {
    function test_GivenADepositAddressIsDeployed() external {
        _deploy();
        bytes memory code = depositAddress.code;
        address inCode;
        assembly {
            inCode := shr(96, mload(add(code, add(32, 16))))
        }
        assertEq(inCode, factory.implementation());
    }
}
