// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

import {Test} from "../Test.sol";
import {Vm} from "../Vm.sol";
import {Reenterer} from "../actors/Reenterer.sol";

/// @notice The base of the tests of rows of docs/faults/, for every contract.
abstract contract RowTest is Test {
    /// @dev The number of emitted events and the sum of their amounts.
    function _told(Vm.Log[] memory logs, address emitter, bytes32 topic)
        internal
        pure
        returns (uint256 times, uint256 total)
    {
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].emitter != emitter || logs[i].topics[0] != topic) continue;
            ++times;
            total += abi.decode(logs[i].data, (uint256));
        }
    }

    function _assertToldOnce(Vm.Log[] memory logs, address emitter, bytes32 topic, uint256 amount) internal pure {
        (uint256 times, uint256 total) = _told(logs, emitter, topic);
        assertEq(times, 1);
        assertEq(total, amount);
    }

    /// @dev Both guards of OpenZeppelin revert with the same error.
    function _assertRefused(Reenterer reenterer) internal view {
        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(reenterer.errorSelector() == ReentrancyGuard.ReentrancyGuardReentrantCall.selector, "for being one");
    }
}
