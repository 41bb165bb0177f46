// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TreasuryTest} from "../TreasuryTest.sol";

contract OutflowLimitTest is TreasuryTest {
    function test_GivenNoLimitWasSet() external view {
        _assertLimit(outsider, 0, 0);
    }

    function test_GivenTheTokenIsWithoutLimit() external view {
        _assertLimit(address(token), NO_LIMIT, 0);
    }

    function testFuzz_GivenALimitWasSet(uint256 limit, uint64 window) external {
        limit = between(limit, 1, type(uint208).max - 1);
        window = uint64(between(window, 1, type(uint48).max));
        _limit(address(token), limit, window);
        _assertLimit(address(token), limit, window);
    }

    function _assertLimit(address token_, uint256 expectedLimit, uint64 expectedWindow) private view {
        (uint256 limit, uint64 window) = treasury.outflowLimit(token_);
        assertEq(limit, expectedLimit);
        assertEq(window, expectedWindow);
    }
}
