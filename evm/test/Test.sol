// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Vm} from "./Vm.sol";

/// @notice The base of every test: the cheat codes and assertions that print both values.
abstract contract Test {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error NotEqual(uint256 actual, uint256 expected);
    error NotEqualAddress(address actual, address expected);
    error NotAtMost(uint256 actual, uint256 bound);
    error NotTrue(string claim);

    function assertEq(uint256 actual, uint256 expected) internal pure {
        if (actual != expected) revert NotEqual(actual, expected);
    }

    function assertEq(address actual, address expected) internal pure {
        if (actual != expected) revert NotEqualAddress(actual, expected);
    }

    function assertAtMost(uint256 actual, uint256 bound) internal pure {
        if (actual > bound) revert NotAtMost(actual, bound);
    }

    function assertTrue(bool condition, string memory claim) internal pure {
        if (!condition) revert NotTrue(claim);
    }

    function expectNotOwner(address caller) internal {
        vm.expectRevert(abi.encodeWithSignature("OwnableUnauthorizedAccount(address)", caller));
    }

    /// @dev Maps any number into [low, high].
    function between(uint256 x, uint256 low, uint256 high) internal pure returns (uint256) {
        if (low == 0 && high == type(uint256).max) return x;
        return low + x % (high - low + 1);
    }

    /// @dev An address without code, key or balance, the same for the same name.
    function named(string memory name) internal pure returns (address) {
        return address(uint160(uint256(keccak256(bytes(name)))));
    }
}
