// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {DepositAddress} from "./DepositAddress.sol";
import {IDepositAddress} from "./IDepositAddress.sol";
import {IDepositAddressFactory} from "./IDepositAddressFactory.sol";

/// @title DepositAddressFactory
/// @notice Deploys and sweeps the deposit addresses of one Treasury; see IDepositAddressFactory.
/// @dev The event contains the increase of the Treasury's balance, so it is emitted after the transfer. `nonReentrant`
/// makes that safe.
contract DepositAddressFactory is IDepositAddressFactory, ReentrancyGuardTransient {
    /// @dev The init code of a deposit address is _HEAD ++ implementation ++ _TAIL. It returns all but its own first
    /// 10 bytes: a minimal proxy (EIP-1167) that stops at once when it is called without data. So a plain transfer of
    /// value makes no cold call of the implementation, which costs more than 2300 gas.
    ///
    ///     3d 6033 80 600a 3d 39 81 f3       return the 51 bytes after these 10
    ///     36 6005 57 00                     without call data: stop
    ///     5b 36 3d 3d 37                    copy the call data to memory
    ///     3d 3d 3d 36 3d 73 <address>       output: none; input: the copied call data; target
    ///     5a f4                             delegatecall with all the gas
    ///     3d 82 80 3e                       copy the returned data to memory
    ///     90 3d 91 6031 57 fd 5b f3         revert or return with that data
    bytes private constant _HEAD = hex"3d603380600a3d3981f3" hex"3660055700" hex"5b363d3d37" hex"3d3d3d363d73";
    bytes private constant _TAIL = hex"5af4" hex"3d82803e" hex"903d91603157fd5bf3";

    /// @inheritdoc IDepositAddressFactory
    address public immutable treasury;

    /// @inheritdoc IDepositAddressFactory
    address public immutable implementation;

    /// @inheritdoc IDepositAddressFactory
    bytes32 public immutable initCodeHash;

    /// @param treasury_ The Treasury that receives every sweep.
    constructor(address treasury_) {
        if (treasury_.code.length == 0) revert InvalidTreasury(treasury_);
        treasury = treasury_;
        implementation = address(new DepositAddress(treasury_));
        initCodeHash = keccak256(bytes.concat(_HEAD, bytes20(implementation), _TAIL));
    }

    /// @inheritdoc IDepositAddressFactory
    function sweep(Sweep[] calldata sweeps) external nonReentrant {
        for (uint256 i; i < sweeps.length; ++i) {
            _sweep(sweeps[i].salt, sweeps[i].token);
        }
    }

    /// @inheritdoc IDepositAddressFactory
    function addressOf(bytes32 salt) public view returns (address) {
        return Create2.computeAddress(salt, initCodeHash);
    }

    function _sweep(bytes32 salt, address token) private {
        address depositAddress = addressOf(salt);
        uint256 amount = _balanceOf(token, depositAddress);
        if (amount == 0) return;
        if (depositAddress.code.length == 0) Create2.deploy(0, salt, _initCode());

        uint256 balanceBefore = _balanceOf(token, treasury);
        try IDepositAddress(depositAddress).forward(token, amount) {}
        catch {
            revert SweepFailed(salt, token, amount);
        }
        uint256 balanceAfter = _balanceOf(token, treasury);

        if (balanceAfter <= balanceBefore) revert SweepFailed(salt, token, amount);
        emit Swept(salt, token, depositAddress, balanceAfter - balanceBefore);
    }

    function _initCode() private view returns (bytes memory) {
        return bytes.concat(_HEAD, bytes20(implementation), _TAIL);
    }

    function _balanceOf(address token, address account) private view returns (uint256) {
        return token == address(0) ? account.balance : IERC20(token).balanceOf(account);
    }
}
