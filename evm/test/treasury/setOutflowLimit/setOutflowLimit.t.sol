// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract SetOutflowLimitTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.setOutflowLimit(address(token), 1, 1);
    }

    function testFuzz_RevertWhen_ALimitComesWithoutAWindow(uint256 limit) external {
        limit = between(limit, 1, type(uint256).max - 1);
        vm.expectRevert(abi.encodeWithSelector(ITreasury.ZeroWindow.selector, address(token)));
        _limit(address(token), limit, 0);
    }

    function testFuzz_RevertWhen_TheLimitDoesNotFit(uint256 limit) external {
        limit = between(limit, uint256(type(uint208).max) + 1, type(uint256).max - 1);
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 208, limit));
        _limit(address(token), limit, 1 days);
    }

    function testFuzz_RevertWhen_TheWindowDoesNotFit(uint64 window) external {
        if (window <= type(uint48).max) window = type(uint64).max - window;
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 48, window));
        _limit(address(token), 1, window);
    }

    function test_WhenTheLimitIsZero() external {
        _limit(address(token), 0, 0);
        assertEq(treasury.outflowAvailable(address(token)), 0);
        vm.expectRevert(abi.encodeWithSelector(ITreasury.OutflowLimitExceeded.selector, address(token), 1, 0));
        _pay(INTENT, address(token), recipient, 1);
    }

    function test_WhenTheLimitIsTheLargestNumber() external {
        _limit(address(token), 1, 1 days);
        _limit(address(token), NO_LIMIT, 0);
        _pay(INTENT, address(token), recipient, 1_000_000e6);
        assertEq(treasury.outflowAvailable(address(token)), NO_LIMIT);
    }

    function test_WhenTheLimitIsLowered() external {
        _use(600, 1000);
        _limit(address(token), 700, 1000);
        assertEq(treasury.outflowAvailable(address(token)), 100);
        _limit(address(token), 500, 1000);
        assertEq(treasury.outflowAvailable(address(token)), 0);
    }

    function test_WhenTheLimitIsRaised() external {
        _use(600, 1000);
        _limit(address(token), 5000, 1000);
        assertEq(treasury.outflowAvailable(address(token)), 4400);
    }

    function test_WhenTheWindowIsShortened() external {
        _use(600, 1000);
        vm.warp(block.timestamp + 100);
        _limit(address(token), 1000, 10);
        assertEq(treasury.outflowAvailable(address(token)), 500);
        vm.warp(block.timestamp + 1);
        assertEq(treasury.outflowAvailable(address(token)), 600);
    }

    function testFuzz_GivenNothingIsUsed(uint256 limit, uint64 window) external {
        limit = between(limit, 1, type(uint208).max - 1);
        window = uint64(between(window, 1, type(uint48).max));
        vm.expectEmit(address(treasury));
        emit ITreasury.OutflowLimitSet(outsider, limit, window);
        _limit(outsider, limit, window);
        assertEq(treasury.outflowAvailable(outsider), limit);
    }

    /// @dev A limit that refills by one per second and is partly used.
    function _use(uint256 amount, uint256 limit) private {
        _limit(address(token), limit, uint64(limit));
        _pay(INTENT, address(token), recipient, amount);
    }
}
