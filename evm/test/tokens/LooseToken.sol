// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {HookToken} from "./HookToken.sol";

/// @notice Executes an authorization without a check of the signature, and withholds a configurable share.
contract LooseToken is HookToken {
    uint256 public kept;

    function setKept(uint256 amount) external {
        kept = amount;
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        _transfer(from, to, value - kept);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        bytes calldata
    ) external {
        _transfer(from, to, value - kept);
    }
}
