// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterDepositoryTest is PaymasterTest {
    function test_GivenADepositoryWasGivenAtConstruction() external view {
        assertEq(paymaster.depository(), address(depository));
    }
}
