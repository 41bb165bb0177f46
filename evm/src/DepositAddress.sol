// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";

import {IDepositAddress} from "./IDepositAddress.sol";

/// @title DepositAddress
/// @notice The implementation of every deposit address; see IDepositAddress.
/// @dev The factory deploys it once. A deposit address is a proxy of 51 bytes that delegates to this code. The Treasury
/// and the factory are immutables and there is no storage, so the behaviour cannot change.
contract DepositAddress is IDepositAddress {
    using SafeERC20 for IERC20;

    /// @inheritdoc IDepositAddress
    address public immutable treasury;

    /// @inheritdoc IDepositAddress
    address public immutable factory;

    /// @param treasury_ The only destination.
    constructor(address treasury_) {
        treasury = treasury_;
        factory = msg.sender;
    }

    /// @inheritdoc IDepositAddress
    function forward(address token, uint256 amount) external {
        if (msg.sender != factory) revert NotFactory(msg.sender);
        if (token != address(0)) IERC20(token).safeTransfer(treasury, amount);
        else if (!LowLevelCall.callNoReturn(treasury, amount, "")) revert TransferFailed();
    }
}
