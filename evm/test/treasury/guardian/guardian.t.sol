// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Treasury} from "../../../src/Treasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract GuardianTest is TreasuryTest {
    function test_GivenNoneWasSet() external {
        assertEq(new Treasury(owner, new address[](0)).guardian(), address(0));
    }

    function test_GivenOneWasSet() external view {
        assertEq(treasury.guardian(), guardian);
    }
}
