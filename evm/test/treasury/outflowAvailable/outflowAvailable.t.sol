// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract OutflowAvailableTest is TreasuryTest {
    function test_GivenNoLimitWasSet() external view {
        assertEq(treasury.outflowAvailable(outsider), 0);
    }

    function test_GivenTheTokenIsWithoutLimit() external view {
        assertEq(treasury.outflowAvailable(address(token)), NO_LIMIT);
    }

    function testFuzz_GivenPartOfTheWindowHasPassed(uint256 limit, uint64 window, uint256 passed) external {
        limit = between(limit, 1, 1e12);
        window = uint64(between(window, 2, 365 days));
        passed = between(passed, 0, window - 1);
        _limit(address(token), limit, window);
        _pay(INTENT, address(token), recipient, limit);

        vm.warp(block.timestamp + passed);
        assertEq(treasury.outflowAvailable(address(token)), limit * passed / window);
    }

    function test_GivenTheWholeWindowHasPassed() external {
        _limit(address(token), 1e6, 1 days);
        _pay(INTENT, address(token), recipient, 1e6);
        vm.warp(block.timestamp + 1 days);
        assertEq(treasury.outflowAvailable(address(token)), 1e6);
        vm.warp(block.timestamp + 365 days);
        assertEq(treasury.outflowAvailable(address(token)), 1e6);
    }
}
