// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositoryTest} from "../DepositoryTest.sol";

contract IsWhitelistedTest is DepositoryTest {
    function test_GivenTheAccountIsApproved() external view {
        assertTrue(depository.isWhitelisted(receiver), "approved");
    }

    function testFuzz_GivenTheAccountIsNotApproved(address account) external view {
        if (account == receiver) account = outsider;
        assertTrue(!depository.isWhitelisted(account), "not approved");
    }
}
