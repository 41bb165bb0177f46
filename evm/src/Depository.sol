// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";

import {IDepository} from "./IDepository.sol";

/// @title Depository
/// @notice The only entry for user deposits; see IDepository.
/// @dev The event contains the increase of the receiver's balance, so it is emitted after the transfer. `nonReentrant`
/// makes that safe.
contract Depository is IDepository, Ownable2Step, Pausable, ReentrancyGuard {
    using EnumerableSet for EnumerableSet.AddressSet;
    using SafeERC20 for IERC20;

    /* EVENTS */

    /// @notice Emitted once per deposit.
    /// @param id The swap the deposit pays for, assigned off-chain and never interpreted here.
    /// @param token The token deposited, or the zero address for the native token.
    /// @param receiver The receiver of the deposit.
    /// @param amount The increase of the balance of `receiver`, in base units. It is less than the amount sent if the
    /// token takes a fee, and more if the token or one of its hooks sent the receiver more during the deposit.
    event Deposited(bytes32 indexed id, address indexed token, address indexed receiver, uint256 amount);

    /// @notice Emitted when a receiver is approved.
    event AddedToWhitelist(address indexed receiver);

    /// @notice Emitted when the approval of a receiver is removed.
    event RemovedFromWhitelist(address indexed receiver);

    /* ERRORS */

    /// @notice The receiver is not approved.
    error NotWhitelisted();

    /// @notice A required address is zero.
    error ZeroAddress();

    /// @notice The amount is zero, or the balance of the receiver did not increase.
    error ZeroAmount();

    /// @notice The receiver is already approved.
    error AlreadyWhitelisted();

    /// @notice The address cannot be a receiver, because it is this contract.
    error InvalidReceiver();

    /// @notice The old and the new receiver are the same.
    error SameAddress();

    /// @notice The receiver refused the native value.
    error TransferFailed();

    /* STORAGE */

    EnumerableSet.AddressSet private _receivers;

    /* CONSTRUCTOR */

    /// @param owner_ The account that manages the list of receivers and may pause.
    /// @param receivers The receivers approved at deployment; may be empty.
    constructor(address owner_, address[] memory receivers) Ownable(owner_) {
        for (uint256 i; i < receivers.length; ++i) {
            _add(receivers[i]);
        }
    }

    /* DEPOSITS */

    /// @inheritdoc IDepository
    function depositNative(bytes32 id, address receiver) external payable nonReentrant whenNotPaused {
        _check(receiver, msg.value);

        uint256 balanceBefore = receiver.balance;
        (bool sent,) = receiver.call{value: msg.value}("");
        if (!sent) revert TransferFailed();

        _deposited(id, address(0), receiver, balanceBefore, receiver.balance);
    }

    /// @inheritdoc IDepository
    function depositERC20(bytes32 id, address token, address receiver, uint256 amount)
        external
        nonReentrant
        whenNotPaused
    {
        _check(receiver, amount);
        if (token == address(0)) revert ZeroAddress();

        uint256 balanceBefore = IERC20(token).balanceOf(receiver);
        IERC20(token).safeTransferFrom(msg.sender, receiver, amount);

        _deposited(id, token, receiver, balanceBefore, IERC20(token).balanceOf(receiver));
    }

    /* OWNER */

    /// @inheritdoc IDepository
    function addToWhitelist(address receiver) external onlyOwner {
        _add(receiver);
    }

    /// @inheritdoc IDepository
    function removeFromWhitelist(address receiver) external onlyOwner {
        _remove(receiver);
    }

    /// @inheritdoc IDepository
    function updateWhitelistedAddress(address oldReceiver, address newReceiver) external onlyOwner {
        if (oldReceiver == newReceiver) revert SameAddress();
        _remove(oldReceiver);
        _add(newReceiver);
    }

    /// @inheritdoc IDepository
    function pause() external onlyOwner {
        _pause();
    }

    /// @inheritdoc IDepository
    function unpause() external onlyOwner {
        _unpause();
    }

    /* VIEWS */

    /// @inheritdoc IDepository
    function isWhitelisted(address receiver) public view returns (bool) {
        return _receivers.contains(receiver);
    }

    /// @inheritdoc IDepository
    function getWhitelistedAddresses() external view returns (address[] memory) {
        return _receivers.values();
    }

    /* INTERNAL */

    function _check(address receiver, uint256 amount) private view {
        if (!isWhitelisted(receiver)) revert NotWhitelisted();
        if (amount == 0) revert ZeroAmount();
    }

    function _deposited(bytes32 id, address token, address receiver, uint256 balanceBefore, uint256 balanceAfter)
        private
    {
        if (balanceAfter <= balanceBefore) revert ZeroAmount();
        emit Deposited(id, token, receiver, balanceAfter - balanceBefore);
    }

    function _add(address receiver) private {
        if (receiver == address(0)) revert ZeroAddress();
        if (receiver == address(this)) revert InvalidReceiver();
        if (!_receivers.add(receiver)) revert AlreadyWhitelisted();
        emit AddedToWhitelist(receiver);
    }

    function _remove(address receiver) private {
        if (!_receivers.remove(receiver)) revert NotWhitelisted();
        emit RemovedFromWhitelist(receiver);
    }
}
