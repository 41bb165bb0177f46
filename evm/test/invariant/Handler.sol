// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Test} from "../Test.sol";
import {Vm} from "../Vm.sol";

/// @notice The base of the handlers: logs of the contract under test, and calls that may revert.
abstract contract Handler is Test {
    /// @dev Makes the call as `sender` and returns the logs of `target`.
    function _attempt(address sender, address target, uint256 value, bytes memory data)
        internal
        returns (bool succeeded, Vm.Log[] memory logs)
    {
        vm.recordLogs();
        vm.prank(sender);
        (succeeded,) = target.call{value: value}(data);
        Vm.Log[] memory all = vm.getRecordedLogs();

        uint256 count;
        for (uint256 i; i < all.length; ++i) {
            if (all[i].emitter == target) ++count;
        }
        logs = new Vm.Log[](count);
        for (uint256 i = all.length; i > 0; --i) {
            if (all[i - 1].emitter == target) logs[--count] = all[i - 1];
        }
    }

    function _address(bytes32 topic) internal pure returns (address) {
        return address(uint160(uint256(topic)));
    }
}
